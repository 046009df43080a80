internal import CThreadingPlatform
internal import Glibc

/// The calls on a `pthread_rwlock_t`. Each returns an errno; see the manual page of the call.
@safe
package struct NativeReadWriteLock: Sendable {
  // SAFETY of @safe: the memory is only handed to the calls below.
  private let memory: NativeMemory<pthread_rwlock_t>

  package static var size: Int { MemoryLayout<pthread_rwlock_t>.stride }
  package static var alignment: Int { MemoryLayout<pthread_rwlock_t>.alignment }

  /// The memory of a lock: the caller's, or its own. It holds no lock until
  /// ``initialize(prefersWriters:isShared:)``.
  package init(at address: UnsafeMutableRawPointer?) {
    unsafe memory = address.map { unsafe NativeMemory(at: $0) } ?? NativeMemory()
  }

  package func initialize(prefersWriters: Bool, isShared: Bool) throws(ThreadingError) {
    var native = pthread_rwlockattr_t()
    try NativeMutex.check("pthread_rwlockattr_init", unsafe pthread_rwlockattr_init(&native))
    defer { _ = unsafe pthread_rwlockattr_destroy(&native) }
    let kind =
      prefersWriters
      ? PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP : PTHREAD_RWLOCK_PREFER_READER_NP
    try NativeMutex.check(
      "pthread_rwlockattr_setkind_np", unsafe pthread_rwlockattr_setkind_np(&native, CInt(kind)))
    if isShared {
      try NativeMutex.check(
        "pthread_rwlockattr_setpshared",
        unsafe pthread_rwlockattr_setpshared(&native, CInt(PTHREAD_PROCESS_SHARED)))
    }
    try NativeMutex.check(
      "pthread_rwlock_init", unsafe pthread_rwlock_init(memory.pointer, &native))
  }

  /// Ends the lock. The C library does not say whether it was held.
  package func destroy() { _ = unsafe pthread_rwlock_destroy(memory.pointer) }

  /// Gives memory of its own back.
  package func free() { memory.free() }

  /// The kernel id of the thread that holds the lock for writing, or 0. Only that thread, and one that
  /// holds the lock for reading, can rely on it.
  package var writer: UInt32 { unsafe ctp_rwlock_writer(memory.pointer) }
  /// How many threads hold the lock for reading, or are about to.
  package var readers: UInt32 { unsafe ctp_rwlock_readers(memory.pointer) >> 3 }

  package func readLock() -> CInt { unsafe pthread_rwlock_rdlock(memory.pointer) }
  package func tryReadLock() -> CInt { unsafe pthread_rwlock_tryrdlock(memory.pointer) }
  package func writeLock() -> CInt { unsafe pthread_rwlock_wrlock(memory.pointer) }
  package func tryWriteLock() -> CInt { unsafe pthread_rwlock_trywrlock(memory.pointer) }
  package func unlock() -> CInt { unsafe pthread_rwlock_unlock(memory.pointer) }

  package func readLock(until deadline: MonotonicInstant) -> CInt {
    unsafe deadline.wait {
      unsafe ctp_rwlock_read_until(memory.pointer, $0)
    } endless: {
      readLock()
    }
  }

  package func writeLock(until deadline: MonotonicInstant) -> CInt {
    unsafe deadline.wait {
      unsafe ctp_rwlock_write_until(memory.pointer, $0)
    } endless: {
      writeLock()
    }
  }
}
