public import Synchronization
public import ThreadingPlatform

/// A flag that threads set, clear, test and wait for: the smallest shared atomic.
///
/// Setting and clearing wake those that wait for the change by themselves. The orderings are fixed:
/// reading acquires, changing acquires and releases. For other orderings, see ``AtomicBox``.
///
/// Unlike a ``ResetEvent``, a flag that is set and cleared at once may be missed by those that
/// wait.
///
/// - Note: Safe to use from any thread. What was written before a change happens before whatever
///   follows the call that sees it.
public final class AtomicFlag: Sendable {
  // word = waiters * 2 + set
  //
  // A change clears the waiters' bit and, if it was set, wakes all; they look and set it again.
  @usableFromInline let word: Atomic<UInt32>

  @inlinable static var set: UInt32 { 1 }
  @inlinable static var waiters: UInt32 { 2 }

  /// A flag.
  @inlinable
  public init(_ isSet: Bool = false) {
    word = Atomic(isSet ? Self.set : 0)
  }

  /// Whether the flag is set at this moment.
  @inlinable
  public var isSet: Bool { word.load(ordering: .acquiring) & Self.set != 0 }

  /// Sets the flag, and says whether it was set before: of threads that call this on a clear flag
  /// at once, one gets false.
  @discardableResult
  @inlinable
  public func testAndSet() -> Bool { change(to: Self.set) }

  /// Clears the flag, and says whether it was set before.
  @discardableResult
  @inlinable
  public func testAndClear() -> Bool { change(to: 0) }

  /// Sleeps until the flag is set.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait() { _ = wait(for: Self.set, until: .distantFuture) }

  /// Sleeps until the flag is set or a moment has come.
  ///
  /// - Returns: Whether the flag was seen set.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(until deadline: MonotonicInstant) -> Bool {
    wait(for: Self.set, until: deadline)
  }

  /// Sleeps until the flag is set or `duration` has passed.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock.
  /// - Returns: Whether the flag was seen set.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(for duration: Duration) -> Bool {
    wait(for: Self.set, until: .now.advanced(by: duration))
  }

  /// Sleeps until the flag is clear.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func waitUntilClear() { _ = wait(for: 0, until: .distantFuture) }

  /// Sleeps until the flag is clear or a moment has come.
  ///
  /// - Returns: Whether the flag was seen clear.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func waitUntilClear(until deadline: MonotonicInstant) -> Bool {
    wait(for: 0, until: deadline)
  }

  @inlinable
  func change(to state: UInt32) -> Bool {
    // Acquiring and releasing: the caller sees what those before it wrote, and hands it on.
    let before = word.exchange(state, ordering: .acquiringAndReleasing)
    if before & Self.waiters != 0 { wakeAll() }
    return before & Self.set != 0
  }

  @usableFromInline
  func wakeAll() {
    Futex.wakeAll(word)
  }

  private func wait(for state: UInt32, until deadline: MonotonicInstant) -> Bool {
    while true {
      // acquiring: pairs with the release in change().
      let seen = word.load(ordering: .acquiring)
      if seen & Self.set == state { return true }
      let marked = seen | Self.waiters
      guard
        seen == marked
          || word.compareExchange(expected: seen, desired: marked, ordering: .relaxed).exchanged
      else { continue }
      if Futex.wait(word, while: marked, until: deadline) == .timedOut {
        return word.load(ordering: .acquiring) & Self.set == state
      }
    }
  }
}
