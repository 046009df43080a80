public import CThreadingPlatform
public import Synchronization
public import ThreadingPlatform

/// A lock that many threads may hold for reading at once, or one for writing.
///
/// Readers write to the lock's word, which makes them wait for each other's processors, so for very
/// short sections ``FastMutex`` is as fast. Once readers have got in each other's way often enough,
/// the lock gives them a word each, on cache lines of their own, and reading scales with the
/// processors; a writer that comes takes that back, and pays for it by looking at all those words.
/// They take 128 bytes each, two for each processor and 128 at most, in locks of which that is true;
/// others take 24 bytes and a queue.
///
/// Threads that have to wait are served in the order in which they came, readers that stand
/// together all at once. So neither readers nor writers starve. It follows that a thread must not
/// take the lock for reading twice: a writer that began to wait in between would wait for the first
/// reading to end, and the second reading for the writer.
///
/// A third way to hold it is for upgradable reading: beside readers, but by one thread only, which
/// can then turn it into writing without letting another writer in between. See ``upgrade()``.
///
/// After a `fork`, what other threads of the parent held at that moment stays held in the child.
///
/// - Note: Safe to use from any thread. What a writer wrote happens before the next holder's lock
///   call returns; what readers read happens before the next writer's does.
public struct ReadWriteLock: ~Copyable, Sendable {
  // word = turns * 2^32 + readers * 8 + upgradable * 4 + writer * 2 + queued
  //
  // bit, count | meaning                 | changes
  // readers    | hold it for reading     | up: fast path unless `queued` or `writer` is set,
  //            |                         | or settle(); down: any reader that leaves
  // upgradable | held for upgradable     | set: as above, if clear; cleared: by its owner, or by
  //            | reading                 | settle(), which turns it into `writer`
  // writer     | held for writing        | set: fast path from 0, or settle(); cleared: its owner
  // queued     | threads wait: everybody | set: by one that begins to wait; cleared: settle(); both
  //            | else has to queue up    | with the lock of the queue held
  // turns      | how often readers were  | up: a reader that is in the count, see `ReaderStripes`
  //            | given stripes           |
  //
  // A reader that leaves last, and every other holder that leaves, calls settle() if `queued` is
  // set; one that begins to wait calls it after it has set the bit. So whichever comes second of
  // "the lock becomes free" and "somebody waits" sees the other.
  //
  // Readers with a stripe of their own are not in the word: see `ReaderStripes`.
  @usableFromInline let word = Atomic<UInt64>(0)
  /// The thread that holds the lock for writing or upgradable reading, or 0. To find misuse: only
  /// the owner can find its own id here, which it wrote.
  @usableFromInline let owner = Atomic<UInt32>(0)

  let queue = Locked(WaitQueue<Access>())
  /// The stripes, as a number: see ``ReaderStripes``.
  @usableFromInline let stripes = Atomic<UInt>(ReaderStripes.none)
  /// How often readers have got in each other's way: at `collisionsForStripes` they get stripes.
  let collisions = Atomic<Int32>(0)

  @inlinable static var queued: UInt64 { 1 }
  @inlinable static var writer: UInt64 { 2 }
  @inlinable static var upgradable: UInt64 { 4 }
  @inlinable static var reader: UInt64 { 8 }
  @inlinable static var turn: UInt64 { 1 << 32 }
  /// All but the turns: 0 when the lock is free, but for readers with stripes.
  @inlinable static var holders: UInt64 { turn - 1 }

  @usableFromInline
  enum Access: Sendable {
    case reading, upgradableReading, writing
    /// From upgradable reading to writing: stands before all others.
    case upgrading
  }

  private let label: String?

  /// A free lock.
  ///
  /// - Parameter label: What messages about misuse call the lock; without one they give its address.
  public init(label: String? = nil) {
    self.label = label
  }

  deinit {
    // relaxed: whoever destroys the lock has exclusive access to it.
    let last = word.load(ordering: .relaxed) & Self.holders
    if last != 0 { stopDestroying(last) }
    if let stripes = ReaderStripes(stripes.load(ordering: .relaxed)) {
      if let reader = stripes.firstReader { stopDestroying("held by \(Misuse.holder(reader))") }
      stripes.free()
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
  /// Other readers are never in its way, nor is a ``tryWriteLock()`` that fails. A wait is, also one
  /// with a limit that has passed, for as long as it takes to give up.
  ///
  /// - Returns: Whether the calling thread now holds the lock for reading; false also when it
  ///   already holds it for writing or upgradable reading.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  @inlinable
  public borrowing func tryReadLock() -> Bool {
    // Beside its own upgradable reading, it would wait for itself when it upgrades.
    if owner.load(ordering: .relaxed) == ctp_thread_id() { return false }
    // relaxed: looked at again once the stripe is taken.
    let stripes = stripes.load(ordering: .relaxed)
    if ReaderStripes.areOn(stripes) && takeStripe(stripes) { return true }
    let seen = word.load(ordering: .relaxed)
    if seen & (Self.queued | Self.writer) != 0 { return false }
    // acquiring: pairs with the release of the writer that left.
    return word.compareExchange(
      expected: seen, desired: seen + Self.reader, ordering: .acquiring
    ).exchanged || readCollided()
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
  ///   checked: if none does, the program stops. Readers must give back what they took themselves.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  @inlinable
  public borrowing func readUnlock() {
    // relaxed: stripes that this thread has taken it has seen before.
    if leaveStripe(stripes.load(ordering: .relaxed)) { return }
    // releasing: what we read happens before the next writer writes.
    let before = word.wrappingSubtract(Self.reader, ordering: .releasing).oldValue
    let holders = before & Self.holders
    if holders < Self.reader { stop("readUnlock", "no thread holds the lock for reading") }
    if holders & Self.queued != 0 && holders < 2 * Self.reader { settleSlowly(leaving: 0) }
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

  private var address: String { Futex.hexAddress(of: word) }

  private var name: String { Misuse.name("ReadWriteLock", label) }

  private borrowing func stopDestroying(_ last: UInt64) -> Never {
    // relaxed, both: for the message only. Readers by the word are counted, and not known.
    let holder = Misuse.holder(owner.load(ordering: .relaxed))
    var facts: [String] = []
    if last & Self.writer != 0 { facts.append("held for writing by \(holder)") }
    if last & Self.upgradable != 0 { facts.append("held for upgradable reading by \(holder)") }
    if last >= Self.reader { facts.append("held for reading by \(last / Self.reader) threads") }
    if last & Self.queued != 0 {
      let first = queue.withLock { $0.first?.thread ?? 0 }
      facts.append("waited for by \(Misuse.holder(first))")
    }
    stopDestroying(facts.joined(separator: " and "))
  }

  private borrowing func stopDestroying(_ state: String) -> Never {
    fatalError("\(name): destroyed while \(state), at \(address), by \(Misuse.caller)")
  }

  @usableFromInline
  borrowing func stop(_ method: StaticString, _ what: StaticString) -> Never {
    // relaxed: for the message only.
    let last = owner.load(ordering: .relaxed)
    fatalError(
      "\(name).\(method): \(what), called by \(Misuse.caller); \(Misuse.holder(last)) "
        + "holds the lock at \(address) for writing or upgradable reading")
  }
}
