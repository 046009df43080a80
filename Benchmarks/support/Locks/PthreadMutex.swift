import Glibc

/// A `pthread_mutex_t` in memory of its own, which keeps its address.
// SAFETY of @safe and @unchecked: the pointer is valid from init to deinit, and a mutex is made to
// be used from many threads.
@safe
package final class PthreadMutex: @unchecked Sendable {
  package enum Kind: Sendable {
    case normal
    case recursive
    /// Spins for a moment before it sleeps.
    case adaptive
  }

  /// For conditions.
  package let mutex: UnsafeMutablePointer<pthread_mutex_t>

  package init(kind: Kind = .normal) {
    unsafe mutex = .allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    _ = unsafe pthread_mutexattr_init(&attributes)
    defer { _ = unsafe pthread_mutexattr_destroy(&attributes) }
    switch kind {
    case .normal: break
    case .recursive:
      _ = unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_RECURSIVE))
    case .adaptive:
      _ = unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
    }
    let code = unsafe pthread_mutex_init(mutex, &attributes)
    precondition(code == 0, "pthread_mutex_init: errno \(code)")
  }

  deinit {
    _ = unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  @inlinable @inline(__always)
  package func lock() { _ = unsafe pthread_mutex_lock(mutex) }

  @inlinable @inline(__always)
  package func unlock() { _ = unsafe pthread_mutex_unlock(mutex) }
}
