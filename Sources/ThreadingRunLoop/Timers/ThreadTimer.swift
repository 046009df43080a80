public import ThreadingPlatform

/// Calls a closure on a loop's thread at a moment, once or again and again.
///
/// ```swift
/// let timer = try ThreadTimer(every: .milliseconds(20)) { firing in
///   step()
///   if done { firing.timer.cancel() }
/// }
/// try ThreadRunLoop.current.add(timer)
/// ```
///
/// A timer never fires early. A repeating one keeps to its grid of moments (first + n x interval)
/// however long its closure takes, so it does not drift; moments that have passed meanwhile are
/// skipped, and the next call is told how many.
///
/// A timer belongs to the one loop that it was added to. The loop holds it until it is done:
/// fired (one-shot), cancelled, or the loop's thread has ended. Its closure is released then, even
/// if the timer itself is still held. A timer that was never added and is let go is simply gone.
///
/// - Note: Safe to use from any thread. The closure is called on the loop's thread.
public final class ThreadTimer: @unchecked Sendable {
  /// One call of a timer's closure.
  public struct Firing: Sendable {
    /// The timer that fired.
    public let timer: ThreadTimer
    /// The moment for which the call was scheduled, on the timer's grid.
    public let scheduled: MonotonicInstant
    /// How many moments of the grid after ``scheduled`` have passed already, and are skipped.
    public let missed: Int
  }

  /// What a timer calls.
  public typealias Body = @Sendable (Firing) -> Void

  /// The time between two firings; nil for a timer that fires once.
  public let interval: Duration?

  /// How much later than scheduled the timer may fire, so that several can share a wake-up.
  public let tolerance: Duration

  /// A timer that fires once, at a moment. A moment in the past is as good as the present.
  ///
  /// - Parameters:
  ///   - moment: When it fires; ``MonotonicInstant/distantFuture`` is never.
  ///   - tolerance: How much later it may fire, from zero up.
  ///   - body: Called on the thread of the loop that the timer is added to.
  /// - Throws: EINVAL for a negative tolerance.
  public convenience init(
    at moment: MonotonicInstant, tolerance: Duration = .zero, _ body: @escaping Body
  ) throws(ThreadingError) {
    try self.init(first: moment, interval: nil, tolerance: tolerance, body: body)
  }

  /// A timer that fires once, some time after the present moment.
  ///
  /// - Parameters:
  ///   - delay: From now; zero or less fires in the loop's next pass. A delay that is too long for
  ///     the clock (some 292 years) never ends.
  ///   - tolerance: How much later it may fire, from zero up.
  ///   - body: Called on the thread of the loop that the timer is added to.
  /// - Throws: EINVAL for a negative tolerance.
  public convenience init(
    after delay: Duration, tolerance: Duration = .zero, _ body: @escaping Body
  ) throws(ThreadingError) {
    try self.init(
      first: .now.advanced(by: delay), interval: nil, tolerance: tolerance, body: body)
  }

  /// A timer that fires again and again.
  ///
  /// - Parameters:
  ///   - interval: The time between two firings. Zero fires once in each pass of the loop, which
  ///     then never sleeps but serves all else as well.
  ///   - first: The first firing; one interval from now if nil.
  ///   - tolerance: How much later each firing may come, from zero up. It does not add up.
  ///   - body: Called on the thread of the loop that the timer is added to.
  /// - Throws: EINVAL for a negative interval or tolerance.
  public convenience init(
    every interval: Duration, startingAt first: MonotonicInstant? = nil,
    tolerance: Duration = .zero, _ body: @escaping Body
  ) throws(ThreadingError) {
    try self.init(
      first: first ?? .now.advanced(by: interval), interval: interval, tolerance: tolerance,
      body: body)
  }

  private init(
    first: MonotonicInstant, interval: Duration?, tolerance: Duration, body: @escaping Body
  ) throws(ThreadingError) {
    if let interval, interval < .zero {
      throw .refused(
        by: "ThreadTimer.interval", code: .invalid,
        "an interval of \(interval) is negative; it must be zero or more")
    }
    guard tolerance >= .zero else {
      throw .refused(
        by: "ThreadTimer.tolerance", code: .invalid,
        "a tolerance of \(tolerance) is negative; it must be zero or more")
    }
    self.interval = interval
    self.tolerance = tolerance
    intervalNanoseconds = interval?.saturatedNanoseconds ?? -1
    toleranceNanoseconds = tolerance.saturatedNanoseconds
    self.scheduled = first
    self.body = body
  }

  /// Whether the timer will still fire: it is on a loop, and neither done nor cancelled.
  public var isScheduled: Bool {
    guard let items = owner.items else { return false }
    return items.withLock { _ in phase == .scheduled || (phase == .firing && repeats) }
  }

  /// Keeps the timer from firing again, and releases its closure.
  ///
  /// After the call no firing begins. One that has begun on the loop's thread may still be going
  /// on; called from the closure itself, that one is the last. A cancelled timer stays so.
  ///
  /// - Returns: Whether this call kept a firing from happening.
  /// - Complexity: O(log n) in the timers of the loop.
  @discardableResult
  public func cancel() -> Bool {
    switch owner.cancel() {
    case .wasFree:
      body = nil
      return true
    case .wasCancelled: return false
    case .isOwned(let items): return items.cancel(self)
    }
  }

  // MARK: - For the loop

  /// Where the timer stands.
  enum Phase {
    case scheduled
    case firing
    case finished
  }

  let owner = ItemOwner()
  let intervalNanoseconds: Int64
  let toleranceNanoseconds: Int64

  // SAFETY of @unchecked: the variables below are guarded by the lock of the owner's items. Before
  // there is an owner, `scheduled` and `body` are only touched by init, and by the one call that
  // moves `owner` on: a claim hands them to the lock, a cancel drops the body.
  var phase = Phase.scheduled
  var body: Body?
  /// The next moment of the grid.
  var scheduled: MonotonicInstant
  /// The heap by its number in the items, and the place there; -1 when in none.
  var heapNumber = 0
  var heapIndex = -1

  var repeats: Bool { intervalNanoseconds >= 0 }
}
