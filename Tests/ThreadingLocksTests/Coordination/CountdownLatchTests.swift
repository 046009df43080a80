import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("CountdownLatch", .endsInTime)
struct CountdownLatchTests {
  @Test("opens at zero, once and for good")
  func sequential() {
    let latch = CountdownLatch(3)
    #expect(latch.count == 3)
    #expect(!latch.countDown())
    #expect(!latch.isOpen)
    #expect(!latch.wait(for: .milliseconds(1)))
    #expect(latch.countDown(by: 2))
    #expect(latch.isOpen && latch.count == 0)
    latch.wait()
    #expect(latch.wait(until: MonotonicInstant(nanoseconds: 0)))
    #expect(CountdownLatch(0).isOpen)
    CountdownLatch(1).countDownAndWait()
  }

  @Test("remembers what came before the wait", .endsInTime)
  func remembers() throws {
    for _ in 0..<500 {
      let latch = CountdownLatch(1)
      let join = try inBackground { latch.countDown() }
      latch.wait()
      join()
    }
  }

  @Test("wakes all that wait, and not before zero", .endsInTime)
  func wakes() throws {
    let latch = CountdownLatch(2)
    let value = Unguarded(0)
    let joins = try (0..<4).map { _ in
      try waiting {
        latch.wait()
        #expect(value.value == 2)
      }
    }
    latch.countDown()
    value.value = 2
    latch.countDown()
    for join in joins { join() }
  }

  @Test("a wait ends at its deadline, never before")
  func timedOut() {
    let latch = CountdownLatch(1)
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      for _ in 0..<10 {
        let start = MonotonicInstant.now
        #expect(!latch.wait(for: .microseconds(microseconds)))
        #expect(start.duration(to: .now) >= .microseconds(microseconds))
      }
    }
  }

  @Test("a count out of range, or below zero, stops the program and names the label")
  func misuse() async {
    let made = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CountdownLatch(-1, label: "start")
    }
    #expect(message(of: made).contains("CountdownLatch \"start\": made with a count of -1; 0 to"))
    let below = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let latch = CountdownLatch(1, label: "start")
      latch.countDown()
      latch.countDown()
    }
    #expect(message(of: below).contains("CountdownLatch \"start\".countDown: by 1, with 0 left"))
    await #expect(processExitsWith: .failure) { CountdownLatch(1).countDown(by: 0) }
    await #expect(processExitsWith: .failure) { CountdownLatch(1).countDown(by: 2) }
  }

  @Test("what was done before each step is seen by those that waited", .endsInTime)
  func stress() throws {
    for round in 0..<300 {
      let latch = CountdownLatch(3)
      let parts = (0..<3).map { _ in Unguarded(0) }
      try concurrently(4) { index in
        if index < 3 {
          parts[index].value = round + 1
          latch.countDown()
        }
        if index == 3 && round.isMultiple(of: 2) {
          while !latch.wait(for: .microseconds(10)) {}
        }
        latch.wait()
        if parts.contains(where: { $0.value != round + 1 }) { Issue.record("a part is missing") }
      }
    }
  }
}
