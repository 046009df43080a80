import TestSupport
import Testing
import ThreadingLocks

@Suite("PosixSpinLock", .endsInTime)
struct PosixSpinLockTests {
  @Test("excludes", .endsInTime)
  func excludes() throws {
    let lock = try PosixSpinLock()
    let count = Unguarded(0)
    try concurrently(2) { _ in
      for _ in 0..<10_000 { lock.withLock { count.value += 1 } }
    }
    #expect(count.value == 20_000)
    lock.lock()
    #expect(!lock.tryLock())
    lock.unlock()
    #expect(lock.tryLock())
    lock.unlock()
  }

  @Test("the child of a fork gives back what its parent held, as handlers of a fork do")
  func givenBackByChild() throws {
    let lock = try PosixSpinLock()
    let status = lock.withLock {
      inForkedChild {
        lock.unlock()
        let isFree = lock.tryLock()
        if isFree { lock.unlock() }
        return isFree
      }
    }
    #expect(status == 0)
  }

  @Test("the child of a fork may let go of a lock that its parent holds")
  func destroyedByChild() throws {
    var lock: PosixSpinLock? = try PosixSpinLock()
    lock?.lock()
    let status = inForkedChild {
      lock = nil
      return true
    }
    lock?.unlock()
    #expect(status == 0)
  }

  @Test("a lock in shared memory is one, however many objects look at it")
  func shared() throws {
    let memory = SharedMemory(
      byteCount: PosixSpinLock.memorySize, alignment: PosixSpinLock.memoryAlignment)
    let first = try unsafe PosixSpinLock(sharedAt: memory.address)
    let second = unsafe PosixSpinLock(attachedTo: memory.address)
    first.lock()
    #expect(!second.tryLock())
    first.unlock()
    #expect(second.tryLock())
    second.unlock()
  }
}
