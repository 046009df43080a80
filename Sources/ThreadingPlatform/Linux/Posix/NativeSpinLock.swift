package import CThreadingPlatform
internal import Glibc

/// The calls on a `pthread_spinlock_t`. Each returns an errno; see the manual page of the call.
@safe
package struct NativeSpinLock: Sendable {
  // SAFETY of @safe: the memory is only handed to the calls below.
  package let memory: NativeMemory<pthread_spinlock_t>

  package static var size: Int { MemoryLayout<pthread_spinlock_t>.stride }
  package static var alignment: Int { MemoryLayout<pthread_spinlock_t>.alignment }

  /// The memory of a lock: the caller's, or its own. It holds none until ``initialize(isShared:)``.
  package init(at address: UnsafeMutableRawPointer?) {
    unsafe memory = address.map { unsafe NativeMemory(at: $0) } ?? NativeMemory()
  }

  package func initialize(isShared: Bool) throws(ThreadingError) {
    let sharing = CInt(isShared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE)
    try NativeMutex.check("pthread_spin_init", unsafe pthread_spin_init(memory.pointer, sharing))
  }

  package func destroy() { _ = unsafe pthread_spin_destroy(memory.pointer) }

  /// Gives memory of its own back.
  package func free() { memory.free() }

  // What stands on the way of every lock is built into it.

  @inlinable
  package func lock() -> CInt { unsafe pthread_spin_lock(memory.pointer) }
  package func tryLock() -> CInt { unsafe pthread_spin_trylock(memory.pointer) }
  @inlinable
  package func unlock() -> CInt { unsafe pthread_spin_unlock(memory.pointer) }
}
