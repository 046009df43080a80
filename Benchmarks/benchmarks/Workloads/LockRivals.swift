import BenchmarkSupport
import Foundation
import Synchronization
import Threading

/// A lock in a class of its own, the form in which all are compared.
protocol LockUnderTest: AnyObject, Sendable {
  init()
  func withLock(_ body: () -> Void)
}

extension FastLock: LockUnderTest {}
extension FoundationLock: LockUnderTest {}
extension SynchronizationLock: LockUnderTest {}
extension PthreadLock: LockUnderTest {}

/// One that can be held for writing, where `withLock` holds it for reading.
protocol WriteLockUnderTest: LockUnderTest {
  func withWriteLock(_ body: () -> Void)
}

extension FastLock: WriteLockUnderTest {
  @inline(__always)
  func withWriteLock(_ body: () -> Void) { withLock(body) }
}

/// Does without.
final class NoLock: LockUnderTest {
  @inline(__always)
  func withLock(_ body: () -> Void) { body() }
}

final class OurPosixMutex: LockUnderTest {
  private let lock: PosixMutex

  init() {
    do { lock = try PosixMutex() } catch { fatalError("\(error)") }
  }

  @inline(__always)
  func withLock(_ body: () -> Void) {
    do {
      _ = try lock.lock()
      body()
      try lock.unlock()
    } catch {
      fatalError("\(error)")
    }
  }
}

final class OurPosixSpinLock: LockUnderTest {
  private let lock: PosixSpinLock

  init() {
    do { lock = try PosixSpinLock() } catch { fatalError("\(error)") }
  }

  @inline(__always)
  func withLock(_ body: () -> Void) { lock.withLock(body) }
}

/// A bare `pthread_spinlock_t`.
// SAFETY of @safe and @unchecked: the pointer is valid from init to deinit.
@safe
final class PthreadSpinLock: LockUnderTest, @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_spinlock_t>

  init() {
    unsafe lock = .allocate(capacity: 1)
    let code = unsafe pthread_spin_init(lock, 0)
    precondition(code == 0, "pthread_spin_init: errno \(code)")
  }

  deinit {
    _ = unsafe pthread_spin_destroy(lock)
    unsafe lock.deallocate()
  }

  @inline(__always)
  func withLock(_ body: () -> Void) {
    _ = unsafe pthread_spin_lock(lock)
    body()
    _ = unsafe pthread_spin_unlock(lock)
  }
}

/// The least that any lock does: one atomic step to take it and one to give it back. It excludes
/// nobody who does not spin, so it stands only where no other thread comes.
final class TwoAtomicSteps: LockUnderTest {
  private let word = Atomic<UInt32>(0)

  @inline(__always)
  func withLock(_ body: () -> Void) {
    // acquiring and releasing: as a lock has them.
    if word.exchange(1, ordering: .acquiring) == 1 { preconditionFailure("TwoAtomicSteps: taken") }
    body()
    _ = word.exchange(0, ordering: .releasing)
  }
}

/// Locks that their holder may take again; each use here takes them twice.
final class OurRecursiveLock: LockUnderTest {
  private let lock = RecursiveLock()

  @inline(__always)
  func withLock(_ body: () -> Void) {
    lock.withLock { lock.withLock(body) }
  }
}

final class FoundationRecursiveLock: LockUnderTest {
  private let lock = NSRecursiveLock()

  @inline(__always)
  func withLock(_ body: () -> Void) {
    lock.lock()
    lock.lock()
    body()
    lock.unlock()
    lock.unlock()
  }
}

final class PthreadRecursiveLock: LockUnderTest {
  private let lock = PthreadMutex(kind: .recursive)

  @inline(__always)
  func withLock(_ body: () -> Void) {
    lock.lock()
    lock.lock()
    body()
    lock.unlock()
    lock.unlock()
  }
}

/// Locks that readers share. One type for each way to hold them.
final class OurReadLock: WriteLockUnderTest {
  private let lock = ReadWriteLock()

  @inline(__always)
  func withLock(_ body: () -> Void) { lock.withReadLock(body) }

  @inline(__always)
  func withWriteLock(_ body: () -> Void) { lock.withWriteLock(body) }
}

final class OurWriteLock: LockUnderTest {
  private let lock = ReadWriteLock()

  @inline(__always)
  func withLock(_ body: () -> Void) { lock.withWriteLock(body) }
}

final class PthreadReadLock: WriteLockUnderTest {
  private let lock = PthreadReadWriteLock()

  @inline(__always)
  func withWriteLock(_ body: () -> Void) {
    lock.writeLock()
    body()
    lock.unlock()
  }

  @inline(__always)
  func withLock(_ body: () -> Void) {
    lock.readLock()
    body()
    lock.unlock()
  }
}

final class PthreadWriteLock: LockUnderTest {
  private let lock = PthreadReadWriteLock()

  @inline(__always)
  func withLock(_ body: () -> Void) {
    lock.writeLock()
    body()
    lock.unlock()
  }
}
