import BenchmarkSupport

/// A lock that takes part.
struct Entrant: Sendable {
  let name: String
  let about: String
  /// Runs one slice with a lock of this kind.
  let slice: @Sendable (Setting) throws -> Slice

  private init<Lock: ContendedLock>(_ name: String, _ about: String, _ kind: Lock.Type) {
    self.name = name
    self.about = about
    slice = { setting in try Slice.run(setting, with: kind) }
  }

  /// All, ours first.
  static let all = [
    Entrant("fast", "ours: FastMutex", FastLock.self),
    Entrant("fair", "ours: FairMutex, first come, first served", FairLock.self),
    Entrant("read-write", "ours: ReadWriteLock, taken for writing", WriteLock.self),
    Entrant("foundation", "NSLock", FoundationLock.self),
    Entrant("synchronization", "Synchronization.Mutex", SynchronizationLock.self),
    Entrant("pthread", "pthread_mutex_t, normal", PthreadLock.self),
    Entrant("pthread-adaptive", "pthread_mutex_t, adaptive", PthreadAdaptiveLock.self),
    Entrant("spin", "pthread_spinlock_t: spins until it has the lock", SpinLock.self),
    Entrant("spin-yield", "spins, and yields after 100 looks", YieldingSpinLock.self),
    Entrant("none", "no lock, and nothing shared: what the scheduler does", NoLock.self),
  ]
}
