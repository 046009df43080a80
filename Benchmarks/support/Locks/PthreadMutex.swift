import Glibc

/// A `pthread_mutex_t` in memory of its own, which keeps its address.
@safe
public final class PthreadMutex: @unchecked Sendable {
  // SAFETY of @safe and @unchecked: the pointer is valid from init to deinit, and a mutex is made to
  // be used from many threads.

  /// What it does when it is taken again, or held.
  public enum Kind: Sendable {
    /// Waits for ever when its owner takes it again.
    case normal
    /// May be taken again by its owner.
    case recursive
    /// Spins for a moment before it sleeps.
    case adaptive
  }

  /// For conditions.
  public let mutex: UnsafeMutablePointer<pthread_mutex_t>

  /// A free mutex.
  public init(kind: Kind = .normal) {
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

  /// Takes it.
  @inlinable @inline(__always)
  public func lock() { _ = unsafe pthread_mutex_lock(mutex) }

  /// Gives it back.
  @inlinable @inline(__always)
  public func unlock() { _ = unsafe pthread_mutex_unlock(mutex) }
}
