import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private func lock(_ mutex: FairMutex) { mutex.lock() }
private func unlock(_ mutex: FairMutex) { mutex.unlock() }

@Suite("FairMutex", .endsInTime)
struct FairMutexTests {
  @Test("is held from lock to unlock")
  func sequential() throws {
    let mutex = FairMutex()
    mutex.lock()
    #expect(mutex.isHeldByCurrentThread)
    #expect(!mutex.tryLock())
    try concurrently(1) { _ in
      #expect(!mutex.isHeldByCurrentThread && !mutex.tryLock())
      let start = MonotonicInstant.now
      #expect(!mutex.lock(for: .milliseconds(2)))
      #expect(start.duration(to: .now) >= .milliseconds(2))
    }
    mutex.unlock()
    #expect(mutex.lock(until: MonotonicInstant(nanoseconds: 0)))
    mutex.unlock()
    #expect(mutex.withLock { mutex.isHeldByCurrentThread })
    #expect(mutex.tryLock())
    mutex.unlock()
  }

  @Test("threads get it in the order in which they asked", .endsInTime)
  func inOrder() throws {
    let mutex = FairMutex()
    let order = Unguarded([Int]())
    mutex.lock()
    let joins = try (0..<4).map { index in
      try waiting { mutex.withLock { order.value.append(index) } }
    }
    #expect(!mutex.tryLock(), "nobody overtakes those that wait")
    mutex.unlock()
    for join in joins { join() }
    #expect(order.value == [0, 1, 2, 3])
  }

  @Test("excludes under load", .endsInTime)
  func stress() throws {
    let mutex = FairMutex()
    let count = Unguarded(0)
    let taken = Atomic(0)
    try concurrently(4) { index in
      var random = SeededGenerator(seed: UInt64(index))
      for _ in 0..<4_000 {
        if Bool.random(using: &random) {
          mutex.lock()
        } else if !mutex.lock(for: .microseconds(30)) {
          continue
        }
        count.value += 1
        taken.wrappingAdd(1, ordering: .relaxed)
        mutex.unlock()
      }
    }
    #expect(count.value == taken.load(ordering: .relaxed))
    #expect(mutex.tryLock())
    mutex.unlock()
  }
}
