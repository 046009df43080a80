import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Phaser", .endsInTime)
struct PhaserTests {
  @Test("parties register, arrive and leave; a phase ends when all have arrived")
  func sequential() {
    let ended = Locked<[Int]>([])
    let phaser = Phaser(1) { phase in ended.withLock { $0.append(phase) } }
    #expect(phaser.register(2) == 0)
    #expect(phaser.parties == 3 && phaser.missing == 3)
    #expect(phaser.arrive() == 0)
    #expect(phaser.arriveAndLeave() == 0)
    #expect(phaser.phase == 0)
    #expect(!phaser.wait(forEndOf: 0, until: MonotonicInstant.now.advanced(by: .milliseconds(1))))
    #expect(phaser.arriveAndWait() == 0)
    #expect(phaser.phase == 1 && phaser.parties == 2 && phaser.missing == 2)
    phaser.wait(forEndOf: 0)
    #expect(ended.withLock { $0 } == [0])
    phaser.arriveAndLeave()
    phaser.arriveAndLeave()
    #expect(phaser.phase == 2 && phaser.parties == 0)
  }

  @Test("those that are no party can wait, too", .endsInTime)
  func onlooker() throws {
    let phaser = Phaser(1)
    let value = Unguarded(0)
    let join = try waiting {
      phaser.wait(forEndOf: 0)
      #expect(value.value == 1)
    }
    value.value = 1
    phaser.arrive()
    join()
  }

  @Test("who waits for a phase waits for its action", .endsInTime)
  func waitsForTheAction() throws {
    let isIn = ResetEvent(.manual)
    let mayEnd = ResetEvent(.manual)
    let phaser = Phaser(1) { phase in
      guard phase == 0 else { return }
      isIn.set()
      mayEnd.wait()
    }
    let arriver = try inBackground { phaser.arrive() }
    isIn.wait()
    #expect(phaser.phase == 1)
    #expect(phaser.wait(forEndOf: 0, until: passed) == false)
    mayEnd.set()
    phaser.wait(forEndOf: 0)
    arriver()
  }

  @Test("the actions of two phases are run one after the other")
  func actionsInOrder() {
    final class Log: Sendable {
      let events = Locked<[String]>([])
      let phaser = Locked<Phaser?>(nil)
      func note(_ event: String) { events.withLock { $0.append(event) } }
    }
    let log = Log()
    let phaser = Phaser(1) { phase in
      log.note("begins \(phase)")
      // Ends the next phase while the action of this one runs.
      if phase < 2 { log.phaser.withLock { $0 }?.arrive() }
      log.note("ends \(phase)")
    }
    log.phaser.withLock { $0 = phaser }
    phaser.arrive()
    #expect(
      log.events.withLock { $0 } == [
        "begins 0", "ends 0", "begins 1", "ends 1", "begins 2", "ends 2",
      ])
    for phase in 0...2 { #expect(phaser.wait(forEndOf: phase, until: passed) == true) }
    log.phaser.withLock { $0 = nil }
  }

  @Test("nobody passes before all have come, while parties come and go", .endsInTime)
  func stress() throws {
    let phaser = Phaser(3)
    let arrived = Atomic(0)
    try concurrently(3) { index in
      // Each leaves after a number of phases of its own.
      for round in 0..<(500 * (index + 1)) {
        arrived.wrappingAdd(1, ordering: .relaxed)
        if round == 500 * (index + 1) - 1 {
          phaser.arriveAndLeave()
          return
        }
        if phaser.arriveAndWait() != round { Issue.record("another phase than \(round)") }
        // Three parties in the first 500 phases, two in the next 500, then one.
        let least =
          3 * min(round + 1, 500) + 2 * max(0, min(round + 1 - 500, 500))
          + max(0, round + 1 - 1_000)
        if arrived.load(ordering: .relaxed) < least {
          Issue.record("passed before all had come in phase \(round)")
        }
      }
    }
    #expect(phaser.phase == 1_500 && phaser.parties == 0)
    #expect(arrived.load(ordering: .relaxed) == 3_000)
  }

  @Test("misuse stops the program and names the label")
  func misuse() async {
    let arrived = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Phaser(label: "rows").arrive()
    }
    #expect(message(of: arrived).contains("Phaser \"rows\": one arrived of 0 that all had arrived"))
    await #expect(processExitsWith: .failure) { _ = Phaser(-1) }
    await #expect(processExitsWith: .failure) { Phaser(1).register(0) }
    await #expect(processExitsWith: .failure) {
      func wait(_ phaser: Phaser) { phaser.wait(forEndOf: 1) }
      wait(Phaser(1))
    }
  }
}
