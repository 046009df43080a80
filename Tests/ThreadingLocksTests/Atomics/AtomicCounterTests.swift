import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("AtomicCounter", .endsInTime)
struct AtomicCounterTests {
  @Test("counts, swaps and compares")
  func sequential() {
    let counter = AtomicCounter(5)
    #expect(counter.increment() == 6)
    #expect(counter.increment(by: 4) == 10)
    #expect(counter.decrement() == 9)
    #expect(counter.decrement(by: 10) == -1)
    #expect(counter.exchange(3) == -1)
    #expect(counter.compareExchange(expected: 2, desired: 9) == (false, 3))
    #expect(counter.compareExchange(expected: 3, desired: 9) == (true, 3))
    #expect(counter.value == 9)
    #expect(AtomicCounter().value == 0)
  }

  @Test("every change wakes those that wait for it", .endsInTime)
  func wakes() throws {
    let counter = AtomicCounter(3)
    let data = Unguarded(0)
    let zero = try waiting {
      #expect(counter.wait(when: { $0 == 0 }) == 0)
      #expect(data.value == 3)
    }
    try concurrently(1) { _ in
      for _ in 0..<3 {
        data.value += 1
        counter.decrement()
      }
    }
    zero()
    let swapped = try waiting { #expect(counter.wait(when: { $0 > 5 }) == 6) }
    counter.exchange(6)
    swapped()
    let compared = try waiting { #expect(counter.wait(when: { $0 > 6 }) == 7) }
    counter.compareExchange(expected: 6, desired: 7)
    compared()
  }

  @Test("a wait ends at its deadline, never before")
  func timedOut() {
    let counter = AtomicCounter()
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      let start = MonotonicInstant.now
      #expect(counter.wait(for: .microseconds(microseconds), when: { $0 != 0 }) == nil)
      #expect(start.duration(to: .now) >= .microseconds(microseconds))
    }
    #expect(counter.wait(until: MonotonicInstant(nanoseconds: 0), when: { $0 == 0 }) == 0)
  }

  @Test("a number that does not fit stops the program")
  func overflow() async {
    let up = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      AtomicCounter(.max).increment()
    }
    #expect(message(of: up).contains("AtomicCounter.increment: 9223372036854775807 by 1"))
    await #expect(processExitsWith: .failure) { AtomicCounter(.min).decrement() }
  }

  @Test("loses no count, and the last sees what all have done", .endsInTime)
  func stress() throws {
    for round in 0..<200 {
      let left = AtomicCounter(3)
      let parts = (0..<3).map { _ in Unguarded(0) }
      try concurrently(3) { index in
        parts[index].value = round + 1
        if left.decrement() == 0, parts.contains(where: { $0.value != round + 1 }) {
          Issue.record("the last did not see a part")
        }
      }
      #expect(left.value == 0)
    }
    let counter = AtomicCounter()
    try concurrently(4) { _ in for _ in 0..<10_000 { counter.increment() } }
    #expect(counter.value == 40_000)
  }
}
