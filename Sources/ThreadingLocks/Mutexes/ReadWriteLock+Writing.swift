public import CThreadingPlatform
public import Synchronization
public import ThreadingPlatform

/// Holding the lock for writing.
extension ReadWriteLock {
  /// Takes the lock for writing, sleeping until no other thread holds it or waits before this one.
  ///
  /// Costs one compare-and-swap when the lock is free.
  ///
  /// - Precondition: The calling thread does not hold the lock. For writing or upgradable reading,
  ///   this stops the program; for reading, it waits for ever.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  @inlinable
  public borrowing func writeLock() {
    if !tryWriteLock() { _ = lockSlowly(.writing, until: .distantFuture) }
  }

  /// Takes the lock for writing if it is free at this moment.
  ///
  /// When it fails, no other thread has noticed: what it looked at was never held.
  ///
  /// - Returns: Whether the calling thread now holds the lock for writing. If not, another thread
  ///   held it in some way, was about to, or waited for it.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  @inlinable
  public borrowing func tryWriteLock() -> Bool {
    guard takeToWrite(from: 0) else { return false }
    owner.store(ctp_thread_id(), ordering: .relaxed)
    return true
  }

  /// Takes the word for writing, if nobody else holds the lock, by its word or by a stripe.
  ///
  /// - Parameter held: How the calling thread holds the word so far.
  /// - Returns: Whether it now holds it for writing, and with it the lock.
  @inlinable
  borrowing func takeToWrite(from held: UInt64) -> Bool {
    // acquiring, here and where the exchange fails: the look at the stripes comes after, and sees what
    // those that have left the word did to them. The exchange then fails if stripes were given since.
    // Where it does not: pairs with the releases of those that held the lock before.
    var seen = word.load(ordering: .acquiring)
    while seen & Self.holders == held {
      // relaxed: the load before has acquired it.
      let hasStripes = stripes.load(ordering: .relaxed) != ReaderStripes.none
      if hasStripes && !stripesAreFree() { return false }
      let (taken, original) = word.compareExchange(
        expected: seen, desired: seen - held + Self.writer, ordering: .acquiring)
      if taken { return true }
      seen = original
    }
    return false
  }

  /// Takes the lock for writing, unless a moment comes first.
  ///
  /// - Returns: Whether the calling thread now holds the lock for writing. It is tried at least
  ///   once.
  /// - Precondition: As for ``writeLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  @inlinable
  public borrowing func writeLock(until deadline: MonotonicInstant) -> Bool {
    tryWriteLock() || lockSlowly(.writing, until: deadline)
  }

  /// Takes the lock for writing, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the calling thread now holds the lock for writing.
  /// - Precondition: As for ``writeLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  @inlinable
  public borrowing func writeLock(for duration: Duration) -> Bool {
    tryWriteLock() || lockSlowly(.writing, until: .now.advanced(by: duration))
  }

  /// Gives the lock back after writing.
  ///
  /// - Precondition: The calling thread holds the lock for writing. If it does not, the program
  ///   stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  @inlinable
  public borrowing func writeUnlock() {
    leave(Self.writer, "writeUnlock")
  }

  /// Runs `body` with the lock held for writing.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: As for ``writeLock()``.
  @inlinable
  public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    writeLock()
    defer { writeUnlock() }
    return try body()
  }

  /// Whether the calling thread holds the lock for writing.
  @inlinable
  public var isHeldForWritingByCurrentThread: Bool { holds(Self.writer) }
}
