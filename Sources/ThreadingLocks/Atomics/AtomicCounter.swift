public import Synchronization
public import ThreadingPlatform

/// A number that threads count up and down, and can wait on.
///
/// Every change wakes those that wait, by itself. The orderings are fixed: reading acquires,
/// changing acquires and releases, so a counter that reaches zero orders all that was done before
/// each step. For other orderings, see ``AtomicBox``; for a figure that many threads count up at
/// high rates, ``StripedCounter``.
///
/// - Note: Safe to use from any thread. What was written before a change happens before whatever
///   follows the call that sees it.
public final class AtomicCounter: Sendable {
  @usableFromInline let atomic: Atomic<Int>
  @usableFromInline let waitPoint = WaitPoint()

  /// A counter that begins at a number.
  @inlinable
  public init(_ value: Int = 0) {
    atomic = Atomic(value)
  }

  /// The number at this moment.
  @inlinable
  public var value: Int { atomic.load(ordering: .acquiring) }

  /// Adds to the number.
  ///
  /// - Parameter amount: What to add. A sum that does not fit stops the program.
  /// - Returns: The number after that.
  @discardableResult
  @inlinable
  public func increment(by amount: Int = 1) -> Int {
    let (old, new) = atomic.wrappingAdd(amount, ordering: .acquiringAndReleasing)
    if old.addingReportingOverflow(amount).overflow { Self.stop("increment", old, amount) }
    waitPoint.notify(.max)
    return new
  }

  /// Subtracts from the number.
  ///
  /// - Parameter amount: What to subtract. A difference that does not fit stops the program.
  /// - Returns: The number after that.
  @discardableResult
  @inlinable
  public func decrement(by amount: Int = 1) -> Int {
    let (old, new) = atomic.wrappingSubtract(amount, ordering: .acquiringAndReleasing)
    if old.subtractingReportingOverflow(amount).overflow { Self.stop("decrement", old, amount) }
    waitPoint.notify(.max)
    return new
  }

  /// Replaces the number.
  ///
  /// - Returns: The number before that.
  @discardableResult
  @inlinable
  public func exchange(_ value: Int) -> Int {
    let old = atomic.exchange(value, ordering: .acquiringAndReleasing)
    waitPoint.notify(.max)
    return old
  }

  /// Replaces the number if it is what the caller expects.
  ///
  /// - Parameters:
  ///   - expected: The number to replace.
  ///   - desired: What to replace it by.
  /// - Returns: Whether it was replaced, and the number before that.
  @discardableResult
  @inlinable
  public func compareExchange(
    expected: Int, desired: Int
  ) -> (exchanged: Bool, original: Int) {
    let result = atomic.compareExchange(
      expected: expected, desired: desired, successOrdering: .acquiringAndReleasing,
      failureOrdering: .acquiring)
    if result.exchanged { waitPoint.notify(.max) }
    return result
  }

  /// Sleeps until `condition` holds of the number.
  ///
  /// A number that changes and changes back in between may go unseen.
  ///
  /// - Returns: The number of which it held.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(when condition: (Int) -> Bool) -> Int {
    var seen = value
    if condition(seen) { return seen }
    _ = waitPoint.wait(until: .distantFuture) {
      seen = value
      return condition(seen)
    }
    return seen
  }

  /// Sleeps until `condition` holds of the number, at most until a moment.
  ///
  /// - Returns: The number of which it held; nil when the moment came first.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(until deadline: MonotonicInstant, when condition: (Int) -> Bool) -> Int? {
    var seen = value
    if condition(seen) { return seen }
    let holds = waitPoint.wait(until: deadline) {
      seen = value
      return condition(seen)
    }
    return holds ? seen : nil
  }

  /// Sleeps until `condition` holds of the number, at most for `duration`.
  ///
  /// - Parameters:
  ///   - duration: The longest time to wait, on the monotonic clock.
  ///   - condition: What is waited for.
  /// - Returns: The number of which it held; nil when the time was up first.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(for duration: Duration, when condition: (Int) -> Bool) -> Int? {
    wait(until: .now.advanced(by: duration), when: condition)
  }

  @usableFromInline
  static func stop(_ method: StaticString, _ old: Int, _ amount: Int) -> Never {
    fatalError("AtomicCounter.\(method): \(old) by \(amount) does not fit")
  }
}
