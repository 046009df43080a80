import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("CyclicBarrier", .endsInTime)
struct CyclicBarrierTests {
  @Test("a barrier for one is always passed, with its action")
  func alone() {
    let count = Atomic(0)
    let barrier = CyclicBarrier(1) { count.wrappingAdd(1, ordering: .relaxed) }
    #expect(barrier.wait() == .passedLast)
    #expect(barrier.wait(for: .zero) == .passedLast)
    #expect(count.load(ordering: .relaxed) == 2)
    #expect(barrier.parties == 1 && barrier.arrived == 0 && !barrier.isBroken)
  }

  @Test("nobody passes before all have come; the last runs the action", .endsInTime)
  func meets() throws {
    let sum = Unguarded(0)
    let parts = (0..<3).map { _ in Unguarded(0) }
    let last = Atomic(0)
    let barrier = CyclicBarrier(3) { sum.value = parts.reduce(0) { $0 + $1.value } }
    try concurrently(3) { index in
      for round in 1...2_000 {
        parts[index].value = round * (index + 1)
        let passage = barrier.wait()
        if !passage.isPassed { Issue.record("\(passage)") }
        if passage == .passedLast { last.wrappingAdd(1, ordering: .relaxed) }
        if sum.value != round * 6 { Issue.record("\(sum.value) in round \(round)") }
        // The second meeting keeps the parts of the next round out of this one's reading.
        barrier.wait()
      }
    }
    #expect(last.load(ordering: .relaxed) == 2_000)
  }

  @Test("one that gives up breaks the barrier for all, until it is reset", .endsInTime)
  func timedOut() throws {
    let barrier = CyclicBarrier(3)
    let other = try waiting { #expect(barrier.wait() == .broken) }
    #expect(barrier.arrived == 1)
    let start = MonotonicInstant.now
    #expect(barrier.wait(for: .milliseconds(3)) == .timedOut)
    #expect(start.duration(to: .now) >= .milliseconds(3))
    other()
    #expect(barrier.isBroken)
    #expect(barrier.wait() == .broken)
    barrier.reset()
    #expect(!barrier.isBroken)
    try concurrently(3) { _ in #expect(barrier.wait().isPassed) }
  }

  @Test("breaking and resetting tell those that wait", .endsInTime)
  func broken() throws {
    let barrier = CyclicBarrier(2)
    let first = try waiting { #expect(barrier.wait() == .broken) }
    barrier.breakUp()
    first()
    #expect(barrier.isBroken)
    barrier.reset()
    let second = try waiting { #expect(barrier.wait() == .broken) }
    barrier.reset()
    second()
    #expect(!barrier.isBroken && barrier.arrived == 0)
  }

  @Test("a number of threads below one stops the program and names the label")
  func misuse() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CyclicBarrier(0, label: "rows")
    }
    #expect(message(of: result).contains("CyclicBarrier \"rows\": made for 0 threads; 1 or more"))
  }

  @Test(
    "however it ends, all of a meeting are told the same", .endsInTime,
    arguments: [UInt64(1), 2])
  func stress(seed: UInt64) throws {
    let barrier = CyclicBarrier(3)
    let passed = Atomic(0)
    let last = Atomic(0)
    try concurrently(3) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for _ in 0..<3_000 {
        let limit = Duration.microseconds(Int.random(in: 20...400, using: &random))
        switch barrier.wait(for: limit) {
        case .passedLast:
          last.wrappingAdd(1, ordering: .relaxed)
          passed.wrappingAdd(1, ordering: .relaxed)
        case .passed:
          passed.wrappingAdd(1, ordering: .relaxed)
        case .timedOut, .broken:
          barrier.reset()
        }
      }
    }
    // Each meeting that was passed was passed by three threads, one of them last.
    #expect(passed.load(ordering: .relaxed) == 3 * last.load(ordering: .relaxed))
  }
}
