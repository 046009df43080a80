internal import CThreadingPlatform
internal import Synchronization
public import ThreadingPlatform

/// A lock that threads get in the order in which they asked for it.
///
/// It is handed from its owner to the first that waits, so none is overtaken, and none waits for
/// longer than those before it hold the lock. The price is a wake for each change of hands under
/// contention: where order does not matter, ``FastMutex`` is many times faster.
///
/// - Note: Safe to use from any thread. Everything written before ``unlock()`` happens before the
///   next ``lock()`` returns.
public final class FairMutex: Sendable {
  /// One permit, which is served in order: see the state table of ``CountingSemaphore``.
  private let permit: CountingSemaphore
  /// The thread that has the permit, or 0. Only to find misuse: a thread can only find its own id
  /// here if it has written it.
  private let owner = Atomic<UInt32>(0)
  private let label: String?

  /// A free lock.
  ///
  /// - Parameter label: What messages about misuse call the lock.
  public init(label: String? = nil) {
    self.label = label
    permit = CountingSemaphore(1, label: label)
  }

  deinit {
    let last = owner.load(ordering: .relaxed)
    if last != 0 { stop("destroyed while held by \(Misuse.holder(last)), by \(Misuse.caller)") }
  }

  /// Whether the calling thread holds the lock.
  public var isHeldByCurrentThread: Bool { owner.load(ordering: .relaxed) == ctp_thread_id() }

  /// Takes the lock, sleeping until all that asked before have had it.
  ///
  /// Costs one compare-and-swap when it is free.
  ///
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock() { _ = take(until: .distantFuture) }

  /// Takes the lock if it is free at this moment and nobody waits.
  ///
  /// - Returns: Whether the calling thread has taken the lock; false also when it already held it.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func tryLock() -> Bool {
    guard permit.tryAcquire() else { return false }
    owner.store(ctp_thread_id(), ordering: .relaxed)
    return true
  }

  /// Takes the lock, unless a moment comes first.
  ///
  /// - Returns: Whether the calling thread now holds the lock. It is tried at least once.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(until deadline: MonotonicInstant) -> Bool { take(until: deadline) }

  /// Takes the lock, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the calling thread now holds the lock.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(for duration: Duration) -> Bool { take(until: .now.advanced(by: duration)) }

  /// Gives the lock to the first that waits, or back.
  ///
  /// - Precondition: The calling thread holds the lock. If it does not, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func unlock() { giveBack() }

  /// Runs `body` with the lock held.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread does not hold the lock. If it does, the program stops.
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = take(until: .distantFuture)
    defer { giveBack() }
    return try body()
  }

  private func take(until deadline: MonotonicInstant) -> Bool {
    let me = ctp_thread_id()
    if owner.load(ordering: .relaxed) == me { stop("locked again by its owner, \(Misuse.caller)") }
    guard permit.tryAcquire() || permit.stand(for: 1, until: deadline) else { return false }
    owner.store(me, ordering: .relaxed)
    return true
  }

  private func giveBack() {
    let me = ctp_thread_id()
    let holder = owner.load(ordering: .relaxed)
    guard holder == me else {
      stop("held by \(Misuse.holder(holder)), but unlocked by \(Misuse.caller)")
    }
    // relaxed: the permit's release orders it before the next owner's write.
    owner.store(0, ordering: .relaxed)
    permit.release()
  }

  private func stop(_ what: String) -> Never {
    fatalError("\(Misuse.name("FairMutex", label)): \(what)")
  }
}
