import BenchmarkSupport
import Glibc
import Synchronization
import Threading

/// A lock that takes part.
protocol ContendedLock: AnyObject, Sendable {
  func withLock(_ body: () -> Void)

  /// Whether all threads use one lock; if not, each has one of its own.
  static var isShared: Bool { get }
}

extension ContendedLock {
  static var isShared: Bool { true }
}

extension FastLock: ContendedLock {}
extension FoundationLock: ContendedLock {}
extension SynchronizationLock: ContendedLock {}
extension PthreadLock: ContendedLock {}

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

final class PthreadAdaptiveLock: ContendedLock {
  private let lock = PthreadMutex(kind: .adaptive)

  @inline(__always)
  func withLock(_ body: () -> Void) {
    lock.lock()
    body()
    lock.unlock()
  }
}

/// A `pthread_spinlock_t` in memory of its own.
// SAFETY of @safe and @unchecked: as for PthreadMutex.
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
