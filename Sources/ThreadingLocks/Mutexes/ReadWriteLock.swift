public import CThreadingPlatform
public import Synchronization
public import ThreadingPlatform

/// A lock that many threads may hold for reading at once, or one for writing.
///
/// It pays where reading takes long enough for readers to overlap: for very short sections,
/// ``FastMutex`` is as fast, since readers too write to the lock's word.
///
/// Threads that have to wait are served in the order in which they came, readers that stand
/// together all at once. So neither readers nor writers starve. It follows that a thread must not
/// take the lock for reading twice: a writer that began to wait in between would wait for the first
/// reading to end, and the second reading for the writer.
///
/// A third way to hold it is for upgradable reading: beside readers, but by one thread only, which
/// can then turn it into writing without letting another writer in between. See ``upgrade()``.
///
/// - Note: Safe to use from any thread. What a writer wrote happens before the next holder's lock
///   call returns; what readers read happens before the next writer's does.
public struct ReadWriteLock: ~Copyable, Sendable {
  // word = readers * 8 + upgradable * 4 + writer * 2 + queued
  //
  // bit, count | meaning                 | changes
  // readers    | hold it for reading     | up: fast path unless `queued` or `writer` is set,
  //            |                         | or settle(); down: any reader that leaves
  // upgradable | held for upgradable     | set: as above, if clear; cleared: by its owner, or by
  //            | reading                 | settle(), which turns it into `writer`
  // writer     | held for writing        | set: fast path from 0, or settle(); cleared: its owner
  // queued     | threads wait: everybody | set: by one that begins to wait; cleared: settle(); both
  //            | else has to queue up    | with the lock of the queue held
  //
  // A reader that leaves last, and every other holder that leaves, calls settle() if `queued` is
  // set; one that begins to wait calls it after it has set the bit. So whichever comes second of
  // "the lock becomes free" and "somebody waits" sees the other.
  @usableFromInline let word = Atomic<UInt32>(0)
  /// The thread that holds the lock for writing or upgradable reading, or 0. To find misuse: only
  /// the owner can find its own id here, which it wrote.
  @usableFromInline let owner = Atomic<UInt32>(0)

  private let queue = Locked(WaitQueue<Access>())

  @inlinable static var queued: UInt32 { 1 }
  @inlinable static var writer: UInt32 { 2 }
  @inlinable static var upgradable: UInt32 { 4 }
  @inlinable static var reader: UInt32 { 8 }

  @usableFromInline
  enum Access: Sendable {
    case reading, upgradableReading, writing
    /// From upgradable reading to writing: stands before all others.
    case upgrading
  }

  /// A free lock.
  public init() {}

  deinit {
    // relaxed: whoever destroys the lock has exclusive access to it.
    if word.load(ordering: .relaxed) != 0 {
      fatalError("ReadWriteLock: destroyed while held or waited for")
    }
  }

  // MARK: Reading

  /// Takes the lock for reading, sleeping until no other thread writes or waits before this one.
  ///
  /// Costs one compare-and-swap when no thread writes or waits.
  ///
  /// - Precondition: The calling thread does not hold the lock. For writing or upgradable reading,
  ///   this stops the program; for reading, it may wait for ever.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  @inlinable
  public borrowing func readLock() {
    if !tryReadLock() { _ = lockSlowly(.reading, until: .distantFuture) }
  }

  /// Takes the lock for reading if no thread writes or waits at this moment.
  ///
  /// - Returns: Whether the calling thread now holds the lock for reading.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  @inlinable
  public borrowing func tryReadLock() -> Bool {
    var seen = word.load(ordering: .relaxed)
    while seen & (Self.queued | Self.writer) == 0 {
      // acquiring: pairs with the release of the writer that left.
      let (taken, original) = word.weakCompareExchange(
        expected: seen, desired: seen + Self.reader, ordering: .acquiring)
      if taken { return true }
      seen = original
    }
    return false
  }

  /// Takes the lock for reading, unless a moment comes first.
  ///
  /// - Returns: Whether the calling thread now holds the lock for reading. It is tried at least
  ///   once.
  /// - Precondition: As for ``readLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  @inlinable
  public borrowing func readLock(until deadline: MonotonicInstant) -> Bool {
    tryReadLock() || lockSlowly(.reading, until: deadline)
  }

  /// Takes the lock for reading, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the calling thread now holds the lock for reading.
  /// - Precondition: As for ``readLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  @inlinable
  public borrowing func readLock(for duration: Duration) -> Bool {
    tryReadLock() || lockSlowly(.reading, until: .now.advanced(by: duration))
  }

  /// Gives the lock back after reading.
  ///
  /// - Precondition: The calling thread holds the lock for reading. Whether any thread does is
  ///   checked: if none does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  @inlinable
  public borrowing func readUnlock() {
    // releasing: what we read happens before the next writer writes.
    let before = word.wrappingSubtract(Self.reader, ordering: .releasing).oldValue
    if before < Self.reader { Self.stop("readUnlock", "no thread holds the lock for reading") }
    if before & Self.queued != 0 && before < 2 * Self.reader { settleSlowly(leaving: 0) }
  }

  /// Runs `body` with the lock held for reading.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: As for ``readLock()``.
  @inlinable
  public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    readLock()
    defer { readUnlock() }
    return try body()
  }

  // MARK: Writing

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
  /// - Returns: Whether the calling thread now holds the lock for writing.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  @inlinable
  public borrowing func tryWriteLock() -> Bool {
    // acquiring: pairs with the releases of those that held the lock before.
    guard word.compareExchange(expected: 0, desired: Self.writer, ordering: .acquiring).exchanged
    else { return false }
    owner.store(ctp_thread_id(), ordering: .relaxed)
    return true
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

  // MARK: Upgradable reading

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
      Self.stop("upgrade", "the calling thread does not hold the lock for upgradable reading")
    }
    // acquiring: what the readers that left have read happens before we write.
    if word.compareExchange(
      expected: Self.upgradable, desired: Self.writer, ordering: .acquiring
    ).exchanged {
      return true
    }
    return waitInQueue(.upgrading, until: deadline)
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
      Self.stop("downgrade", "the calling thread does not hold the lock for writing")
    }
    // releasing: what we wrote happens before readers that come in now. The writer is alone, so
    // exchanging the two bits by addition touches no other.
    let before = word.wrappingAdd(Self.upgradable - Self.writer, ordering: .releasing).oldValue
    if before & Self.queued != 0 { settleSlowly(leaving: 0) }
  }
}

extension ReadWriteLock {
  @inlinable
  borrowing func holds(_ bit: UInt32) -> Bool {
    owner.load(ordering: .relaxed) == ctp_thread_id() && word.load(ordering: .relaxed) & bit != 0
  }

  @inlinable
  borrowing func leave(_ bit: UInt32, _ method: StaticString) {
    if !holds(bit) { Self.stop(method, "the calling thread does not hold the lock in this way") }
    owner.store(0, ordering: .relaxed)
    var seen = word.load(ordering: .relaxed)
    while seen & Self.queued == 0 {
      // releasing: what we wrote is visible to the next holder.
      let (left, original) = word.weakCompareExchange(
        expected: seen, desired: seen & ~bit, ordering: .releasing)
      if left { return }
      seen = original
    }
    settleSlowly(leaving: bit)
  }

  private static var spinLimit: Int { 100 }

  /// Waits for the lock after the fast path has failed.
  @usableFromInline
  borrowing func lockSlowly(_ access: Access, until deadline: MonotonicInstant) -> Bool {
    if owner.load(ordering: .relaxed) == ctp_thread_id() {
      Self.stop("lock", "the calling thread holds the lock already")
    }
    // A holder is about to leave, perhaps; once others wait, it is their turn.
    var spins = 0
    while spins < Self.spinLimit && word.load(ordering: .relaxed) & Self.queued == 0 {
      if tryLock(access) { return true }
      spins += 1
      ctp_spin_hint()
    }
    guard waitInQueue(access, until: deadline) else { return false }
    if access != .reading { owner.store(ctp_thread_id(), ordering: .relaxed) }
    return true
  }

  private borrowing func tryLock(_ access: Access) -> Bool {
    switch access {
    case .reading: tryReadLock()
    case .writing: tryWriteLock()
    case .upgradableReading: tryUpgradableLock()
    case .upgrading: false
    }
  }

  private borrowing func waitInQueue(_ access: Access, until deadline: MonotonicInstant) -> Bool {
    let waiter = Waiter(access)
    let granted = queue.withLock { queue in
      // relaxed: settle() does the acquiring; the lock of the queue orders the rest.
      word.bitwiseOr(Self.queued, ordering: .relaxed)
      if access == .upgrading { queue.prepend(waiter) } else { queue.append(waiter) }
      return settle(&queue)
    }
    granted.grantAll()
    if waiter.sleep(until: deadline) { return true }
    let others: GrantList<Access>? = queue.withLock { queue in
      guard queue.remove(waiter) else { return nil }
      return settle(&queue)
    }
    guard let others else { return true }
    others.grantAll()
    return false
  }

  /// Leaves a bit of the word, if any, and lets in those whose turn it is.
  @usableFromInline
  borrowing func settleSlowly(leaving bit: UInt32) {
    let granted = queue.withLock { queue in
      // releasing: what we wrote is visible to the next holder.
      word.bitwiseAnd(~bit, ordering: .releasing)
      return settle(&queue)
    }
    granted.grantAll()
  }

  /// Lets in waiters from the front of the queue, as far as they go together. The lock of the queue
  /// is held; holders may leave meanwhile.
  private borrowing func settle(_ queue: inout WaitQueue<Access>) -> GrantList<Access> {
    var granted = GrantList<Access>()
    while let first = queue.first {
      // acquiring, both: those let in see what former holders wrote; grant() hands it on to them.
      let seen = word.load(ordering: .acquiring)
      guard let next = Self.word(seen, letting: first.wanted) else { return granted }
      guard word.compareExchange(expected: seen, desired: next, ordering: .acquiring).exchanged
      else { continue }
      queue.remove(first)
      granted.append(first)
    }
    // relaxed: nothing is handed on by it.
    word.bitwiseAnd(~Self.queued, ordering: .relaxed)
    return granted
  }

  /// The word after letting a waiter in, or nil if it has to wait.
  private static func word(_ seen: UInt32, letting access: Access) -> UInt32? {
    switch access {
    case .reading: seen & writer == 0 ? seen + reader : nil
    case .upgradableReading: seen & (writer | upgradable) == 0 ? seen | upgradable : nil
    case .writing: seen & ~queued == 0 ? seen | writer : nil
    case .upgrading: seen & ~queued == upgradable ? writer | (seen & queued) : nil
    }
  }

  @usableFromInline
  static func stop(_ method: StaticString, _ what: StaticString) -> Never {
    fatalError(
      "ReadWriteLock.\(method): \(what), called by \(FastMutex.describe(ctp_thread_id()))")
  }
}
