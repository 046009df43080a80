import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private final class Shared: Sendable {
  let lock = RecursiveLock()
  let count = Unguarded(0)

  /// Calls itself with the lock held.
  func add(_ depth: Int) {
    lock.withLock {
      count.value += 1
      if depth > 1 { add(depth - 1) }
    }
  }

  func unlock() { lock.unlock() }
}

@Suite("RecursiveLock", .endsInTime)
struct RecursiveLockTests {
  @Test("is free when given back as often as taken")
  func depth() throws {
    let shared = Shared()
    #expect(shared.lock.depth == 0)
    shared.lock.lock()
    #expect(shared.lock.tryLock() == true)
    #expect(shared.lock.lock(until: MonotonicInstant(nanoseconds: 0)) == true)
    #expect(shared.lock.lock(for: .zero) == true)
    #expect(shared.lock.depth == 4)
    for left in [3, 2, 1] {
      shared.lock.unlock()
      #expect(shared.lock.depth == left)
      try concurrently(1) { _ in
        #expect(shared.lock.tryLock() == false)
        #expect(shared.lock.depth == 0)
        #expect(shared.lock.isHeldByCurrentThread == false)
      }
    }
    shared.lock.unlock()
    #expect(shared.lock.isHeldByCurrentThread == false)
    try concurrently(1) { _ in #expect(shared.lock.withLockIfAvailable { 1 } == 1) }
  }

  @Test("an error of the body gives the lock back once")
  func throwing() {
    struct Refusal: Error {}
    let lock = RecursiveLock()
    lock.withLock {
      #expect(throws: Refusal.self) { try lock.withLock { throw Refusal() } }
      #expect(lock.depth == 1)
    }
    #expect(lock.depth == 0)
  }

  @Test("a wait for another thread's lock ends at its deadline")
  func timed() throws {
    let shared = Shared()
    shared.lock.lock()
    shared.lock.lock()
    try concurrently(1) { _ in
      let start = MonotonicInstant.now
      #expect(shared.lock.lock(for: .milliseconds(3)) == false)
      #expect(start.duration(to: .now) >= .milliseconds(3))
    }
    shared.lock.unlock()
    shared.lock.unlock()
  }

  @Test("excludes under load at any depth", .endsInTime)
  func stress() throws {
    let shared = Shared()
    try concurrently(4) { index in
      var random = SeededGenerator(seed: UInt64(index))
      for _ in 0..<5_000 { shared.add(Int.random(in: 1...5, using: &random)) }
    }
    var expected = 0
    for index in 0..<4 {
      var random = SeededGenerator(seed: UInt64(index))
      for _ in 0..<5_000 { expected += Int.random(in: 1...5, using: &random) }
    }
    #expect(shared.count.value == expected)
  }
}
