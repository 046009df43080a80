public import Synchronization
public import ThreadingPlatform

/// A number of permits that threads take and give back, waiting while there are too few.
///
/// It bounds how many threads do something at once, or counts what has been made and not yet
/// consumed. Permits have no owner: any thread may release.
///
/// Threads that do not get their permits at once, or after a short look where that has paid of late,
/// stand in a queue and are served strictly in its order, each with all the permits it asked for. So
/// a thread that waits for many permits is not overtaken by those that ask for few, and one that
/// gives up lets those behind it pass.
///
/// - Note: Safe to use from any thread. What a thread wrote before ``release(_:)`` happens before
///   the return of every acquisition that takes one of those permits.
public final class CountingSemaphore: Sendable {
  // word = permits * 2 + queued
  //
  // queued | meaning                                 | permits change, the bit leaves by
  // 0      | nobody waits                            | any thread's compare-and-swap; a thread that
  //        |                                         | begins to wait sets the bit, under `queue`
  // 1      | threads wait, the first of them for     | the holder of `queue`, which clears the bit
  //        | more permits than there are             | when it takes the last waiter out
  @usableFromInline let word: Atomic<UInt64>

  @inlinable static var queued: UInt64 { 1 }

  private let queue = Locked(WaitQueue<Int>())
  private let history = SpinHistory()
  private let label: String?

  /// The largest number of permits that a semaphore can hold.
  @inlinable
  public static var maximumPermits: Int { Int(Int32.max) }

  /// A semaphore with permits to begin with.
  ///
  /// - Parameters:
  ///   - permits: How many, from 0 to ``maximumPermits``. Any other number stops the program.
  ///   - label: What messages about misuse call the semaphore.
  public init(_ permits: Int, label: String? = nil) {
    self.label = label
    guard (0...Self.maximumPermits).contains(permits) else {
      fatalError(
        "\(Self.name(label)): made with \(permits) permits; 0 to \(Self.maximumPermits) are allowed"
      )
    }
    word = Atomic(UInt64(permits) << 1)
  }

  deinit {
    // relaxed: whoever destroys it has exclusive access to it.
    guard word.load(ordering: .relaxed) & Self.queued != 0 else { return }
    if let first = queue.withLock({ $0.first?.thread }) {
      Misuse.stopDestroying(Self.name(label), awaitedBy: first)
    }
  }

  /// How many permits could be taken at this moment: a figure for display, old when it is read.
  public var availablePermits: Int { Int(word.load(ordering: .relaxed) >> 1) }

  /// Takes permits, all at once, sleeping until they are there.
  ///
  /// Costs one compare-and-swap when they are.
  ///
  /// - Parameter count: How many, from 1 to ``maximumPermits``. Any other number stops the program.
  @available(*, noasync, message: "acquire blocks the calling thread")
  @inlinable
  public func acquire(_ count: Int = 1) {
    if !tryAcquire(count) { _ = acquireSlowly(count, until: .distantFuture) }
  }

  /// Takes permits, all at once, sleeping until they are there or a moment has come.
  ///
  /// - Parameters:
  ///   - count: How many, from 1 to ``maximumPermits``. Any other number stops the program.
  ///   - deadline: When to give up.
  /// - Returns: Whether the permits were taken: all of them, or none.
  @available(*, noasync, message: "acquire blocks the calling thread")
  @inlinable
  public func acquire(_ count: Int = 1, until deadline: MonotonicInstant) -> Bool {
    tryAcquire(count) || acquireSlowly(count, until: deadline)
  }

  /// Takes permits, all at once, sleeping until they are there or for as long as `duration`.
  ///
  /// - Parameters:
  ///   - count: How many, from 1 to ``maximumPermits``. Any other number stops the program.
  ///   - duration: The longest time to wait, on the monotonic clock. Zero or less tries once.
  /// - Returns: Whether the permits were taken: all of them, or none.
  @available(*, noasync, message: "acquire blocks the calling thread")
  @inlinable
  public func acquire(_ count: Int = 1, for duration: Duration) -> Bool {
    tryAcquire(count) || acquireSlowly(count, until: .now.advanced(by: duration))
  }

  /// Takes permits, all at once, if they are there at this moment and nobody waits.
  ///
  /// - Parameter count: How many, from 1 to ``maximumPermits``. Any other number stops the program.
  /// - Returns: Whether the permits were taken: all of them, or none.
  @inlinable
  public func tryAcquire(_ count: Int = 1) -> Bool {
    if count < 1 || count > Self.maximumPermits { stop("acquire", count) }
    let wanted = UInt64(count) << 1
    var seen = word.load(ordering: .relaxed)
    while seen & Self.queued == 0 && seen >= wanted {
      // acquiring: pairs with the release in release().
      let (taken, original) = word.compareExchange(
        expected: seen, desired: seen - wanted, ordering: .acquiring)
      if taken { return true }
      seen = original
    }
    return false
  }

  /// Takes all permits that are there, unless threads wait for them.
  ///
  /// - Returns: How many were taken.
  @discardableResult
  public func drain() -> Int {
    var seen = word.load(ordering: .relaxed)
    while seen & Self.queued == 0 && seen != 0 {
      // acquiring: pairs with the release in release().
      let (taken, original) = word.compareExchange(
        expected: seen, desired: 0, ordering: .acquiring)
      if taken { return Int(seen >> 1) }
      seen = original
    }
    return 0
  }

  /// Gives permits back, or new ones out, and wakes the threads that can now go on.
  ///
  /// Costs one compare-and-swap when nobody waits.
  ///
  /// - Parameter count: How many, from 1; there must not be more than ``maximumPermits``
  ///   afterwards. Any other number stops the program.
  @inlinable
  public func release(_ count: Int = 1) {
    let most = UInt64(Self.maximumPermits)
    if count < 1 || count > Self.maximumPermits { stop("release", count) }
    var seen = word.load(ordering: .relaxed)
    while seen & Self.queued == 0 {
      if seen >> 1 + UInt64(count) > most { stop("release", count) }
      // releasing: what we wrote is visible to whoever takes the permits.
      let (given, original) = word.compareExchange(
        expected: seen, desired: seen + UInt64(count) << 1, ordering: .releasing)
      if given { return }
      seen = original
    }
    releaseSlowly(count)
  }

  /// Runs `body` with permits taken, and gives them back.
  ///
  /// - Parameters:
  ///   - count: How many, from 1 to ``maximumPermits``. Any other number stops the program.
  ///   - body: What to run.
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the permits have been given back.
  @available(*, noasync, message: "withPermits blocks the calling thread")
  @inlinable
  public func withPermits<Result: ~Copyable, Failure: Error>(
    _ count: Int = 1, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    acquire(count)
    defer { release(count) }
    return try body()
  }
}

extension CountingSemaphore {
  @usableFromInline
  func acquireSlowly(_ count: Int, until deadline: MonotonicInstant) -> Bool {
    history.look(until: deadline, for: { tryAcquire(count) }) || stand(for: count, until: deadline)
  }

  /// Takes permits in the order in which threads call this.
  func stand(for count: Int, until deadline: MonotonicInstant) -> Bool {
    let waiter = Waiter(count)
    let taken = queue.withLock { queue in
      var seen = word.load(ordering: .relaxed)
      while seen & Self.queued == 0 {
        let isEnough = seen >= UInt64(count) << 1
        // Permits may have come meanwhile; only a word without enough of them gets the bit.
        // acquiring: pairs with the release in release(), for this thread if permits are taken, and
        // else for those that settle() will give them to. The bit sends others to `queue`, whose lock
        // orders what follows.
        let (changed, original) = word.compareExchange(
          expected: seen, desired: isEnough ? seen - UInt64(count) << 1 : seen | Self.queued,
          ordering: .acquiring)
        if changed {
          if isEnough { return true }
          break
        }
        seen = original
      }
      queue.append(waiter)
      return false
    }
    if taken || waiter.sleep(until: deadline) { return true }
    return giveUp(waiter)
  }

  /// - Returns: Whether the waiter had been granted its permits after all.
  private func giveUp(_ waiter: Waiter<Int>) -> Bool {
    let granted: GrantList<Int>? = queue.withLock { queue in
      guard queue.remove(waiter) else { return nil }
      return settle(&queue, adding: 0)
    }
    guard let granted else { return true }
    granted.grantAll()
    return false
  }

  @usableFromInline
  func releaseSlowly(_ count: Int) {
    let granted: GrantList<Int>? = queue.withLock { queue in
      // Without the bit, the last waiter has left meanwhile.
      guard word.load(ordering: .relaxed) & Self.queued != 0 else { return nil }
      return settle(&queue, adding: count)
    }
    guard let granted else { return release(count) }
    granted.grantAll()
  }

  /// Gives permits to the waiters at the front of the queue, as far as they go.
  ///
  /// The lock of the queue is held and the bit is set: nobody else changes the word now.
  private func settle(_ queue: inout WaitQueue<Int>, adding count: Int) -> GrantList<Int> {
    // relaxed: what came with permits that were released before the bit was set, the thread that set
    // it has acquired, with the lock of the queue held.
    var permits = Int(word.load(ordering: .relaxed) >> 1) + count
    guard permits <= Self.maximumPermits else { stop("release", count) }
    var granted = GrantList<Int>()
    while let first = queue.first, first.wanted <= permits {
      permits -= first.wanted
      queue.remove(first)
      granted.append(first)
    }
    // releasing: as in release(), for those that take what is left without the lock of the queue.
    word.store(UInt64(permits) << 1 | (queue.isEmpty ? 0 : Self.queued), ordering: .releasing)
    return granted
  }

  @usableFromInline
  func stop(_ method: String, _ count: Int) -> Never {
    let name = Self.name(label)
    guard count >= 1 && count <= Self.maximumPermits else {
      fatalError("\(name).\(method): \(count) permits; 1 to \(Self.maximumPermits) are allowed")
    }
    fatalError("\(name).\(method): more than \(Self.maximumPermits) permits in all")
  }

  private static func name(_ label: String?) -> String {
    Misuse.name("CountingSemaphore", label)
  }
}
