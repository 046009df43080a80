import Foundation
import Glibc
import Synchronization
import Threading

/// A lock in a class of its own, the form in which all are compared.
protocol ContendedLock: AnyObject, Sendable {
  init()
  func withLock(_ body: () -> Void)

  /// Whether all threads use one lock; if not, each has one of its own.
  static var isShared: Bool { get }
}

extension ContendedLock {
  static var isShared: Bool { true }
}

final class FastLock: ContendedLock {
  private let lock = FastMutex()

  @inline(__always)
  func withLock(_ body: () -> Void) { lock.withLock(body) }
}

final class FairLock: ContendedLock {
  private let lock = FairMutex()

  @inline(__always)
  func withLock(_ body: () -> Void) { lock.withLock(body) }
}

final class WriteLock: ContendedLock {
  private let lock = ReadWriteLock()

  @inline(__always)
  func withLock(_ body: () -> Void) { lock.withWriteLock(body) }
}

final class FoundationLock: ContendedLock {
  private let lock = NSLock()

  @inline(__always)
  func withLock(_ body: () -> Void) {
    lock.lock()
    body()
    lock.unlock()
  }
}

final class SynchronizationLock: ContendedLock {
  private let lock = Mutex<Void>(())

  @inline(__always)
  func withLock(_ body: () -> Void) { lock.withLock { _ in body() } }
}

/// A `pthread_mutex_t` in memory of its own, which keeps its address.
// SAFETY of @safe and @unchecked: the pointer is valid from init to deinit, and a mutex is made to
// be used from many threads.
@safe
class PthreadLock: ContendedLock, @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  class var kind: CInt { 0 }

  required init() {
    unsafe mutex = .allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    _ = unsafe pthread_mutexattr_init(&attributes)
    _ = unsafe pthread_mutexattr_settype(&attributes, Self.kind)
    let code = unsafe pthread_mutex_init(mutex, &attributes)
    precondition(code == 0, "pthread_mutex_init: errno \(code)")
    _ = unsafe pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    _ = unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  @inline(__always)
  final func withLock(_ body: () -> Void) {
    _ = unsafe pthread_mutex_lock(mutex)
    body()
    _ = unsafe pthread_mutex_unlock(mutex)
  }
}

final class PthreadAdaptiveLock: PthreadLock, @unchecked Sendable {
  /// `PTHREAD_MUTEX_ADAPTIVE_NP`, which the Glibc module does not show.
  override class var kind: CInt { 3 }
}

/// A `pthread_spinlock_t` in memory of its own.
// SAFETY of @safe and @unchecked: as for PthreadLock.
@safe
final class SpinLock: ContendedLock, @unchecked Sendable {
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

/// The spin lock that programs write for themselves: it never sleeps, but lets others run.
final class YieldingSpinLock: ContendedLock {
  private let word = Atomic<Bool>(false)

  @inline(__always)
  func withLock(_ body: () -> Void) {
    var looks = 0
    // acquiring: pairs with the release below.
    while word.load(ordering: .relaxed) || word.exchange(true, ordering: .acquiring) {
      looks += 1
      if looks.isMultiple(of: 100) { sched_yield() }
    }
    body()
    // releasing: what `body` wrote is visible to the next.
    word.store(false, ordering: .releasing)
  }
}

final class NoLock: ContendedLock {
  static var isShared: Bool { false }

  @inline(__always)
  func withLock(_ body: () -> Void) { body() }
}
