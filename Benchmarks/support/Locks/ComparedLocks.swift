import Foundation
import Synchronization
import Threading

// Locks in classes of their own, the form in which all are compared. They are public, and the protocols
// that they conform to are those of the programs: only so does the compiler build their code into the
// loops that measure it. A call instead costs a quarter of what is measured.

/// Ours: ``FastMutex``.
public final class FastLock: Sendable {
  @usableFromInline let lock = FastMutex()

  /// A free lock.
  @inlinable
  public init() {}

  /// Runs `body` with the lock held.
  @inlinable @inline(__always)
  public func withLock(_ body: () -> Void) { lock.withLock(body) }
}

/// `NSLock`.
public final class FoundationLock: Sendable {
  @usableFromInline let lock = NSLock()

  /// A free lock.
  @inlinable
  public init() {}

  /// Runs `body` with the lock held.
  @inlinable @inline(__always)
  public func withLock(_ body: () -> Void) {
    lock.lock()
    body()
    lock.unlock()
  }
}

/// The mutex of the standard library.
public final class SynchronizationLock: Sendable {
  @usableFromInline let lock = Mutex<Void>(())

  /// A free lock.
  @inlinable
  public init() {}

  /// Runs `body` with the lock held.
  @inlinable @inline(__always)
  public func withLock(_ body: () -> Void) { lock.withLock { _ in body() } }
}

/// A `pthread_mutex_t`, normal.
public final class PthreadLock: Sendable {
  @usableFromInline let lock = PthreadMutex()

  /// A free lock.
  @inlinable
  public init() {}

  /// Runs `body` with the lock held.
  @inlinable @inline(__always)
  public func withLock(_ body: () -> Void) {
    lock.lock()
    body()
    lock.unlock()
  }
}
