import BenchmarkSupport

/// A lock that takes part.
struct Entrant: Sendable {
  let name: String
  let about: String
  /// Runs one slice with a lock of this kind.
  let slice: @Sendable (Setting) throws -> Slice

  init<Lock: ContendedLock>(
    _ name: String, _ about: String, _ make: @escaping @Sendable () -> Lock
  ) {
    self.name = name
    self.about = about
    slice = { setting in try Slice.run(setting, make) }
  }

  /// All that need no plug-in, ours first.
  static let all = [
    Entrant("fast", "ours: FastMutex", FastLock.init),
    Entrant("fair", "ours: FairMutex, first come, first served", FairLock.init),
    Entrant("read-write", "ours: ReadWriteLock, taken for writing", WriteLock.init),
    Entrant("foundation", "NSLock", FoundationLock.init),
    Entrant("synchronization", "Synchronization.Mutex", SynchronizationLock.init),
    Entrant("pthread", "pthread_mutex_t, normal", PthreadLock.init),
    Entrant("pthread-adaptive", "pthread_mutex_t, adaptive", PthreadAdaptiveLock.init),
    Entrant("spin", "pthread_spinlock_t: spins until it has the lock", SpinLock.init),
    Entrant("spin-yield", "spins, and yields after 100 looks", YieldingSpinLock.init),
    Entrant("none", "no lock, and nothing shared: what the scheduler does", NoLock.init),
  ]

  /// Those of the given names.
  ///
  /// - Throws: if one is not known.
  static func named(_ names: [String], among entrants: [Entrant]) throws(UsageError) -> [Entrant] {
    let found = names.compactMap { name in entrants.first { $0.name == name } }
    guard found.count == names.count else {
      throw UsageError(
        option: "--locks", value: names.joined(separator: ","),
        allowed: "names with commas between them, each once, of "
          + entrants.map(\.name).joined(separator: ", "))
    }
    return found
  }
}
