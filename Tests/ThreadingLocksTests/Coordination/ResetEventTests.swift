import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("ResetEvent", .endsInTime)
struct ResetEventTests {
  @Test("a manual event lets everybody through until it is reset")
  func manual() {
    let event = ResetEvent(.manual)
    #expect(!event.isSet)
    #expect(!event.tryWait())
    event.set()
    event.set()
    event.wait()
    #expect(event.tryWait() && event.isSet)
    #expect(event.reset())
    #expect(!event.reset())
    #expect(!event.wait(for: .milliseconds(1)))
    #expect(ResetEvent(.manual, isSet: true).isSet)
  }

  @Test("an automatic event lets one through for each time it is set")
  func automatic() {
    let event = ResetEvent(.automatic, isSet: true)
    event.wait()
    #expect(!event.isSet)
    event.set()
    event.set()
    #expect(event.wait(until: MonotonicInstant(nanoseconds: 0)))
    #expect(!event.wait(for: .zero), "it is a flag, not a count")
  }

  @Test(
    "a manual event wakes all that wait, even when it is reset at once", .endsInTime)
  func wakesAll() throws {
    let event = ResetEvent(.manual)
    let joins = try (0..<3).map { _ in try waiting { event.wait() } }
    event.set()
    event.reset()
    for join in joins { join() }
    #expect(!event.isSet)
  }

  @Test("an automatic event wakes those that wait one by one, in order", .endsInTime)
  func wakesOne() throws {
    let event = ResetEvent(.automatic)
    let order = Locked<[Int]>([])
    let joins = try (0..<3).map { index in
      try waiting {
        event.wait()
        order.withLock { $0.append(index) }
      }
    }
    for count in 1...3 {
      event.set()
      #expect(!event.isSet)
      order.withLock(when: { $0.count == count }) { _ in }
    }
    for join in joins { join() }
    #expect(order.withLock { $0 } == [0, 1, 2])
  }

  @Test(
    "a wait ends at its deadline, never before", arguments: [ResetEvent.Reset.manual, .automatic])
  func timedOut(kind: ResetEvent.Reset) {
    let event = ResetEvent(kind)
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      for _ in 0..<10 {
        let start = MonotonicInstant.now
        #expect(!event.wait(for: .microseconds(microseconds)))
        #expect(start.duration(to: .now) >= .microseconds(microseconds))
      }
    }
  }

  @Test("every time it is set lets exactly one through", .endsInTime)
  func stress() throws {
    let event = ResetEvent(.automatic)
    let taken = ResetEvent(.automatic)
    let value = Unguarded(0)
    let passed = Atomic(0)
    let rounds = 5_000
    try concurrently(3) { index in
      if index == 0 {
        for round in 1...rounds {
          value.value = round
          event.set()
          taken.wait()
        }
        return
      }
      while true {
        guard event.wait(for: .microseconds(index * 40)) else {
          if passed.load(ordering: .relaxed) == rounds { return }
          continue
        }
        let count = passed.wrappingAdd(1, ordering: .relaxed).newValue
        if value.value != count { Issue.record("\(value.value) at \(count)") }
        taken.set()
      }
    }
    #expect(passed.load(ordering: .relaxed) == rounds)
    #expect(!event.isSet && !taken.isSet)
  }

  @Test("a start signal is never lost, whoever comes first", .endsInTime)
  func handshake() throws {
    for _ in 0..<500 {
      let event = ResetEvent(.manual)
      let value = Unguarded(0)
      let join = try inBackground {
        value.value = 1
        event.set()
      }
      event.wait()
      #expect(value.value == 1)
      join()
    }
  }
}
