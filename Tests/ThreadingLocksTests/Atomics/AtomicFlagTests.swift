import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("AtomicFlag", .endsInTime)
struct AtomicFlagTests {
  @Test("says what it was before each change")
  func sequential() {
    let flag = AtomicFlag()
    #expect(!flag.isSet)
    #expect(!flag.testAndSet())
    #expect(flag.testAndSet())
    #expect(flag.isSet)
    #expect(flag.testAndClear())
    #expect(!flag.testAndClear())
    #expect(AtomicFlag(true).isSet)
  }

  @Test("setting and clearing wake those that wait for it", .endsInTime)
  func wakes() throws {
    let flag = AtomicFlag()
    let data = Unguarded(0)
    flag.waitUntilClear()
    let joins = try (0..<3).map { _ in
      try waiting {
        flag.wait()
        #expect(data.value == 1)
      }
    }
    data.value = 1
    flag.testAndSet()
    for join in joins { join() }
    flag.wait()
    let clear = try waiting { flag.waitUntilClear() }
    flag.testAndClear()
    clear()
  }

  @Test("a wait ends at its deadline, never before")
  func timedOut() {
    let flag = AtomicFlag()
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      let start = MonotonicInstant.now
      #expect(!flag.wait(for: .microseconds(microseconds)))
      #expect(start.duration(to: .now) >= .microseconds(microseconds))
    }
    #expect(flag.waitUntilClear(until: MonotonicInstant(nanoseconds: 0)))
    flag.testAndSet()
    #expect(!flag.waitUntilClear(until: .now.advanced(by: .milliseconds(1))))
    #expect(flag.wait(until: MonotonicInstant(nanoseconds: 0)))
  }

  @Test("of threads that set it at once, one finds it clear", .endsInTime)
  func race() throws {
    for _ in 0..<300 {
      let flag = AtomicFlag()
      let winners = Atomic(0)
      try concurrently(3) { _ in
        if !flag.testAndSet() { winners.wrappingAdd(1, ordering: .relaxed) }
      }
      #expect(winners.load(ordering: .relaxed) == 1)
    }
  }

  @Test("excludes when used as a lock that sleeps", .endsInTime)
  func asLock() throws {
    let flag = AtomicFlag()
    let count = Unguarded(0)
    try concurrently(4) { _ in
      for _ in 0..<10_000 {
        while flag.testAndSet() { flag.waitUntilClear() }
        count.value += 1
        flag.testAndClear()
      }
    }
    #expect(count.value == 40_000)
  }
}
