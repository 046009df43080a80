public import Synchronization
public import ThreadingPlatform

/// A lock that its owner may take again: it is free when it has been given back as often as it was
/// taken.
///
/// For code that calls back into itself with the lock held. Where that is not needed, ``FastMutex``
/// is smaller and shows by its message that a lock is taken twice by mistake. A
/// ``ConditionVariable`` takes a ``FastMutex`` only: a wait could not give back what callers
/// further up hold.
///
/// - Note: Safe to use from any thread. Everything written before the last ``unlock()`` happens
///   before the next owner's ``lock()`` returns.
public struct RecursiveLock: ~Copyable, Sendable {
  @usableFromInline let mutex = FastMutex()
  /// How often the owner has taken the lock beyond the first time. Only the owner reads or writes
  /// it, so relaxed accesses do: `mutex` orders those of one owner before those of the next.
  @usableFromInline let extra = Atomic<UInt32>(0)

  @usableFromInline let label: String?

  /// A free lock.
  ///
  /// - Parameter label: What messages about misuse call the lock; without one they give its address.
  @inlinable
  public init(label: String? = nil) {
    self.label = label
  }

  @inlinable
  deinit {
    // relaxed: whoever destroys the lock has exclusive access to it.
    if mutex.word.load(ordering: .relaxed) & FastMutex.owner != 0 {
      stop("destroyed while held")
    }
  }

  /// Takes the lock, sleeping until it is free or the calling thread's own.
  ///
  /// Costs what ``FastMutex/lock()`` costs, and less when the thread already holds it.
  ///
  /// - Precondition: The thread holds it fewer than 2^32 times.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func lock() {
    if mutex.isHeldByCurrentThread { lockAgain() } else { mutex.lock() }
  }

  /// Takes the lock if it is free at this moment or the calling thread's own.
  ///
  /// - Returns: Whether the calling thread has taken the lock once more.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func tryLock() -> Bool {
    guard mutex.isHeldByCurrentThread else { return mutex.tryLock() }
    lockAgain()
    return true
  }

  /// Takes the lock, sleeping until it is free or the calling thread's own, or a moment has come.
  ///
  /// - Returns: Whether the calling thread has taken the lock once more. It is tried at least once,
  ///   even when the moment has passed.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func lock(until deadline: MonotonicInstant) -> Bool {
    guard mutex.isHeldByCurrentThread else { return mutex.lock(until: deadline) }
    lockAgain()
    return true
  }

  /// Takes the lock, sleeping until it is free or the calling thread's own, or for as long as
  /// `duration`.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the calling thread has taken the lock once more.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func lock(for duration: Duration) -> Bool {
    tryLock() || lock(until: .now.advanced(by: duration))
  }

  /// Gives the lock back once; the last time makes it free and wakes one thread that sleeps for it.
  ///
  /// - Precondition: The calling thread holds the lock. If it does not, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func unlock() {
    if !mutex.isHeldByCurrentThread { stop("unlocked by a thread that does not hold it") }
    let depth = extra.load(ordering: .relaxed)
    if depth == 0 { mutex.unlock() } else { extra.store(depth - 1, ordering: .relaxed) }
  }

  /// Runs `body` with the lock held.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Runs `body` with the lock held if the lock is free at this moment or the calling thread's own.
  ///
  /// - Returns: What `body` returned, or nil if another thread held the lock.
  /// - Throws: What `body` throws, after the lock has been given back.
  @inlinable
  public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard tryLock() else { return nil }
    defer { unlock() }
    return try body()
  }

  /// Whether the calling thread holds the lock.
  @inlinable
  public var isHeldByCurrentThread: Bool { mutex.isHeldByCurrentThread }

  /// How often the calling thread holds the lock: 0 when it does not.
  public var depth: Int {
    mutex.isHeldByCurrentThread ? Int(extra.load(ordering: .relaxed)) + 1 : 0
  }

  @inlinable
  borrowing func lockAgain() {
    let depth = extra.load(ordering: .relaxed)
    if depth == .max { stop("taken more than 2^32 times by its owner") }
    extra.store(depth + 1, ordering: .relaxed)
  }

  @usableFromInline
  borrowing func stop(_ what: String) -> Never {
    // relaxed: for the message only.
    let last = mutex.word.load(ordering: .relaxed) & FastMutex.owner
    fatalError(
      "\(Misuse.name("RecursiveLock", label)): \(what), by \(Misuse.caller); "
        + "the lock at \(mutex.address) is held by \(Misuse.holder(last))")
  }
}
