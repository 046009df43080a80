import Glibc
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("PosixReadWriteLock", .endsInTime)
struct PosixReadWriteLockTests {
  @Test(
    "readers share, a writer is alone",
    arguments: [PosixReadWriteLock.Preference.readers, .writers])
  func sharing(preference: PosixReadWriteLock.Preference) throws {
    let lock = try PosixReadWriteLock(preferring: preference)
    try lock.readLock()
    try concurrently(1) { _ in
      #expect((try? lock.tryReadLock()) == true)
      #expect((try? lock.tryWriteLock()) == false)
      try? lock.unlock()
    }
    try lock.unlock()
    try lock.withWriteLock {
      try concurrently(1) { _ in
        #expect((try? lock.tryReadLock()) == false)
        let start = MonotonicInstant.now
        let deadline = start.advanced(by: .milliseconds(3))
        #expect((try? lock.readLock(until: deadline)) == false)
        #expect((try? lock.writeLock(until: deadline)) == false)
        #expect(MonotonicInstant.now >= deadline)
      }
      #expect { try lock.writeLock() } throws: { ($0 as? ThreadingError)?.code == EDEADLK }
    }
    #expect(try lock.withReadLock { 1 } == 1)
  }

  @Test(
    "the preference decides whether a reader passes a writer that waits", .endsInTime)
  func preferences() throws {
    for preference in [PosixReadWriteLock.Preference.readers, .writers] {
      let lock = try PosixReadWriteLock(preferring: preference)
      try lock.readLock()
      let writer = try waiting { try? lock.withWriteLock {} }
      #expect(try lock.tryReadLock() == (preference == .readers))
      if preference == .readers { try lock.unlock() }
      try lock.unlock()
      writer()
    }
  }

  @Test("a distant deadline is no deadline", .endsInTime)
  func distantDeadline() throws {
    let lock = try PosixReadWriteLock()
    try lock.writeLock()
    let reader = try waiting {
      #expect((try? lock.readLock(until: .distantFuture)) == true)
      try? lock.unlock()
    }
    let writer = try waiting {
      let deadline = MonotonicInstant.now.advanced(by: .seconds(1_000_000_000_000))
      #expect((try? lock.writeLock(until: deadline)) == true)
      try? lock.unlock()
    }
    try lock.unlock()
    reader()
    writer()
  }

  @Test("what is written together is read together", .endsInTime)
  func stress() throws {
    let lock = try PosixReadWriteLock()
    let pair = Unguarded((0, 0))
    try concurrently(4) { index in
      for round in 0..<5_000 {
        if round % 4 == index {
          try? lock.withWriteLock {
            pair.value.0 += 1
            pair.value.1 += 1
          }
        } else {
          try? lock.withReadLock {
            if pair.value.0 != pair.value.1 { Issue.record("half of a write was seen") }
          }
        }
      }
    }
    #expect(pair.value.0 == 5_000)
  }

  @Test("a lock in shared memory is one, however many objects look at it")
  func shared() throws {
    let memory = SharedMemory(
      byteCount: PosixReadWriteLock.memorySize, alignment: PosixReadWriteLock.memoryAlignment)
    let first = try unsafe PosixReadWriteLock(sharedAt: memory.address, preferring: .writers)
    let second = unsafe PosixReadWriteLock(attachedTo: memory.address)
    try first.readLock()
    #expect(try second.tryWriteLock() == false)
    try first.unlock()
    #expect(try second.tryWriteLock() == true)
    try second.unlock()
  }
}
