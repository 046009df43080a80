public import CThreadingPlatform
public import Synchronization
public import ThreadingPlatform

/// Holding the lock for reading with the right to upgrade.
extension ReadWriteLock {
  /// Takes the lock for reading with the right to upgrade, sleeping until no other thread writes,
  /// holds it in this way or waits before this one.
  ///
  /// - Precondition: As for ``writeLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  @inlinable
  public borrowing func upgradableLock() {
    if !tryUpgradableLock() { _ = lockSlowly(.upgradableReading, until: .distantFuture) }
  }

  /// Takes the lock for reading with the right to upgrade, if that is possible at this moment.
  ///
  /// - Returns: Whether the calling thread now holds the lock in this way.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  @inlinable
  public borrowing func tryUpgradableLock() -> Bool {
    var seen = word.load(ordering: .relaxed)
    while seen & (Self.queued | Self.writer | Self.upgradable) == 0 {
      // acquiring: pairs with the release of the writer that left.
      let (taken, original) = word.weakCompareExchange(
        expected: seen, desired: seen | Self.upgradable, ordering: .acquiring)
      if taken {
        owner.store(ctp_thread_id(), ordering: .relaxed)
        return true
      }
      seen = original
    }
    return false
  }

  /// Takes the lock for reading with the right to upgrade, unless a moment comes first.
  ///
  /// - Returns: Whether the calling thread now holds the lock in this way.
  /// - Precondition: As for ``writeLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  @inlinable
  public borrowing func upgradableLock(until deadline: MonotonicInstant) -> Bool {
    tryUpgradableLock() || lockSlowly(.upgradableReading, until: deadline)
  }

  /// Takes the lock for reading with the right to upgrade, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the calling thread now holds the lock in this way.
  /// - Precondition: As for ``writeLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  @inlinable
  public borrowing func upgradableLock(for duration: Duration) -> Bool {
    tryUpgradableLock() || lockSlowly(.upgradableReading, until: .now.advanced(by: duration))
  }

  /// Gives the lock back after upgradable reading.
  ///
  /// - Precondition: The calling thread holds the lock in this way, and not for writing. If not,
  ///   the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  @inlinable
  public borrowing func upgradableUnlock() {
    leave(Self.upgradable, "upgradableUnlock")
  }

  /// Turns upgradable reading into writing: sleeps until all readers have left, keeping new ones
  /// out.
  ///
  /// No other writer comes in between, so what was read still holds.
  ///
  /// - Precondition: The calling thread holds the lock for upgradable reading. If it does not, the
  ///   program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func upgrade() {
    _ = upgrade(until: .distantFuture)
  }

  /// Turns upgradable reading into writing, unless a moment comes first.
  ///
  /// - Returns: Whether the lock is now held for writing; if not, still for upgradable reading.
  /// - Precondition: As for ``upgrade()``.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func upgrade(until deadline: MonotonicInstant) -> Bool {
    if !holds(Self.upgradable) {
      stop("upgrade", "the calling thread does not hold the lock for upgradable reading")
    }
    if takeToWrite(from: Self.upgradable) { return true }
    turnOffStripes()
    return waitInQueue(.upgrading, until: deadline)
      && drainStripesOrLeave(.upgrading, until: deadline)
  }

  /// Turns upgradable reading into writing, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the lock is now held for writing; if not, still for upgradable reading.
  /// - Precondition: As for ``upgrade()``.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func upgrade(for duration: Duration) -> Bool {
    upgrade(until: .now.advanced(by: duration))
  }

  /// Turns writing into upgradable reading: lets readers in, and no writer.
  ///
  /// - Precondition: The calling thread holds the lock for writing. If it does not, the program
  ///   stops.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func downgrade() {
    if !holds(Self.writer) {
      stop("downgrade", "the calling thread does not hold the lock for writing")
    }
    // releasing: what we wrote happens before readers that come in now. The writer is alone, so
    // exchanging the two bits by addition touches no other.
    let before = word.wrappingAdd(Self.upgradable - Self.writer, ordering: .releasing).oldValue
    if before & Self.queued != 0 { settleSlowly(leaving: 0) }
  }
}
