import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Parker", .endsInTime)
struct ParkerTests {
  @Test("a permit that is there is taken at once, and several count as one")
  func permit() {
    let parker = Parker()
    parker.unpark()
    parker.unpark()
    parker.park()
    #expect(!parker.park(for: .zero))
    parker.unpark()
    #expect(parker.park(until: MonotonicInstant(nanoseconds: 0)))
  }

  @Test("unparking wakes the thread that sleeps", .endsInTime)
  func wakes() throws {
    let parker = Parker()
    let value = Unguarded(0)
    let join = try waiting {
      parker.park()
      #expect(value.value == 1)
    }
    value.value = 1
    parker.unpark()
    join()
  }

  @Test("a wait ends at its deadline, never before")
  func timedOut() {
    let parker = Parker()
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      for _ in 0..<10 {
        let start = MonotonicInstant.now
        #expect(!parker.park(for: .microseconds(microseconds)))
        #expect(start.duration(to: .now) >= .microseconds(microseconds))
      }
    }
  }

  @Test("a signal does not end it", .endsInTime)
  func signalled() throws {
    let parker = Parker()
    let senders = Locked<[@Sendable () -> Void]>([])
    let unparked = Atomic(false)
    let join = try waiting {
      let send = HarmlessSignal.accept()
      senders.withLock { $0.append(send) }
      parker.park()
      #expect(unparked.load(ordering: .relaxed) == true)
    }
    let before = HarmlessSignal.count
    senders.withLock(when: { !$0.isEmpty }) { $0[0]() }
    #expect(eventually { HarmlessSignal.count > before })
    unparked.store(true, ordering: .relaxed)
    parker.unpark()
    join()
  }

  @Test("two threads that park at once stop the program")
  func misuse() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let parker = Parker(label: "worker")
      _ = try waiting { parker.park() }
      try concurrently(1) { _ in parker.park() }
    }
    #expect(
      message(of: result).contains("Parker \"worker\".park: another thread is parked already"))
  }

  @Test("a ball passed between two threads is never dropped", .endsInTime)
  func pingPong() throws {
    let parkers = [Parker(), Parker()]
    let turn = Unguarded(0)
    try concurrently(2) { index in
      for round in 0..<10_000 {
        if index == 1 || round > 0 {
          if round.isMultiple(of: 3) {
            while !parkers[index].park(for: .microseconds(5)) {}
          } else {
            parkers[index].park()
          }
        }
        if turn.value != index { Issue.record("out of turn") }
        turn.value = 1 - index
        parkers[1 - index].unpark()
      }
    }
  }
}
