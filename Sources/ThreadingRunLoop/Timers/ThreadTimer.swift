internal import Synchronization
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
/// skipped, and the next call is told how many, unless another ``MissedPolicy`` is chosen.
///
/// A timer goes by the monotonic clock unless it is made with another ``TimerClock``. A loop needs a
/// descriptor for each of the other clocks that its timers go by, to be woken when the machine goes
/// on after a suspension, or when the time of day is set.
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
    /// The moment for which the call was scheduled, on the timer's grid. For a timer of another clock
    /// than the monotonic one: as far from now as that clock has it.
    public let scheduled: MonotonicInstant
    /// The same moment on the timer's own clock.
    public let moment: TimerMoment
    /// How many moments of the grid after ``scheduled`` have passed already, and are skipped.
    public let missed: Int
  }

  /// What a timer calls.
  public typealias Body = @Sendable (Firing) -> Void

  /// What a repeating timer does about moments of its grid that passed while its closure, or
  /// something else, kept the loop busy.
  public enum MissedPolicy: Hashable, Sendable {
    /// They are skipped; the next call is told how many.
    case skip
    /// They are made up for, one call in each pass of the loop, until the grid is caught up with.
    case burst
    /// The grid begins anew: the next firing is one interval after the closure's return.
    case delay
  }

  /// The time between two firings; nil for a timer that fires once.
  public var interval: Duration? {
    // On no loop it cannot have been changed.
    let nanoseconds = owner.items?.withLock { _ in intervalNanoseconds } ?? intervalBefore
    return nanoseconds < 0 ? nil : .nanoseconds(nanoseconds)
  }

  let callLabel = CallLabel()

  /// What a ``RunLoopWatchdog`` calls it; nil for no name. May be changed at any time.
  ///
  /// The process keeps each text that was ever given, once: a few fixed names are meant, not new ones
  /// again and again.
  public var label: String? {
    get { callLabel.text }
    set { callLabel.text = newValue }
  }

  /// The clock that the timer goes by.
  public let clock: TimerClock

  /// What is done about missed moments.
  public let missedPolicy: MissedPolicy

  /// How much later than scheduled the timer may fire, so that several can share a wake-up. In whole
  /// nanoseconds, rounded up.
  public var tolerance: Duration { .nanoseconds(toleranceNanoseconds) }

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
    try self.init(first: TimerMoment(moment), interval: nil, tolerance: tolerance, body: body)
  }

  /// A timer that fires once, at a moment of any clock. A moment in the past is as good as the
  /// present.
  ///
  /// - Parameters:
  ///   - moment: When it fires.
  ///   - tolerance: How much later it may fire, from zero up.
  ///   - body: Called on the thread of the loop that the timer is added to.
  /// - Throws: EINVAL for a negative tolerance.
  public convenience init(
    at moment: TimerMoment, tolerance: Duration = .zero, _ body: @escaping Body
  ) throws(ThreadingError) {
    try self.init(first: moment, interval: nil, tolerance: tolerance, body: body)
  }

  /// A timer that fires once, some time after the present moment.
  ///
  /// - Parameters:
  ///   - delay: From now; zero or less fires in the loop's next pass. A delay that is too long for
  ///     the clock (some 292 years) never ends.
  ///   - clock: The clock that measures the delay.
  ///   - tolerance: How much later it may fire, from zero up.
  ///   - body: Called on the thread of the loop that the timer is added to.
  /// - Throws: EINVAL for a negative tolerance.
  public convenience init(
    after delay: Duration, on clock: TimerClock = .monotonic, tolerance: Duration = .zero,
    _ body: @escaping Body
  ) throws(ThreadingError) {
    try self.init(
      first: .now(on: clock).advanced(by: delay), interval: nil, tolerance: tolerance, body: body)
  }

  /// A timer that fires again and again.
  ///
  /// - Parameters:
  ///   - interval: The time between two firings. Zero fires once in each pass of the loop, which
  ///     then never sleeps but serves all else as well.
  ///   - first: The first firing; one interval from now if nil.
  ///   - tolerance: How much later each firing may come, from zero up. It does not add up.
  ///   - missed: What is done about moments that passed while the loop was busy.
  ///   - body: Called on the thread of the loop that the timer is added to.
  /// - Throws: EINVAL for a negative interval or tolerance.
  public convenience init(
    every interval: Duration, startingAt first: MonotonicInstant? = nil,
    tolerance: Duration = .zero, missed: MissedPolicy = .skip, _ body: @escaping Body
  ) throws(ThreadingError) {
    try self.init(
      first: TimerMoment(first ?? .now.advanced(by: interval)), interval: interval,
      tolerance: tolerance, missed: missed, body: body)
  }

  /// A timer that fires again and again, by any clock.
  ///
  /// - Parameters:
  ///   - interval: The time between two firings, as above.
  ///   - first: The first firing, on the clock that the timer goes by.
  ///   - tolerance: How much later each firing may come, from zero up. It does not add up.
  ///   - missed: What is done about moments that passed while the loop was busy, the machine
  ///     was suspended, or the time of day was set forward.
  ///   - body: Called on the thread of the loop that the timer is added to.
  /// - Throws: EINVAL for a negative interval or tolerance.
  public convenience init(
    every interval: Duration, startingAt first: TimerMoment,
    tolerance: Duration = .zero, missed: MissedPolicy = .skip, _ body: @escaping Body
  ) throws(ThreadingError) {
    try self.init(
      first: first, interval: interval, tolerance: tolerance, missed: missed, body: body)
  }

  private init(
    first: TimerMoment, interval: Duration?, tolerance: Duration,
    missed: MissedPolicy = .skip, body: @escaping Body
  ) throws(ThreadingError) {
    if let interval { try Self.check(interval) }
    guard tolerance.attoseconds >= 0 else {
      throw .refused(
        by: "ThreadTimer.tolerance", code: .invalid,
        "a tolerance of \(tolerance) is negative; it must be zero or more")
    }
    toleranceNanoseconds = tolerance.attoseconds == 0 ? 0 : tolerance.saturatedNanoseconds
    clock = first.clock
    missedPolicy = missed
    intervalBefore = interval?.saturatedNanoseconds ?? -1
    intervalNanoseconds = intervalBefore
    scheduled = first.nanoseconds
    callback = Callback(body: body)
  }

  private static func check(_ interval: Duration) throws(ThreadingError) {
    guard interval >= .zero else {
      throw .refused(
        by: "ThreadTimer.interval", code: .invalid,
        "an interval of \(interval) is negative; it must be zero or more")
    }
  }

  /// Whether the timer will still fire: it is on a loop, and neither done nor cancelled.
  public var isScheduled: Bool {
    guard let items = owner.items else { return false }
    return items.withLock { _ in phase == .scheduled || (phase == .firing && willFireAgain) }
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
    if let wasToFire = owner.withItems({ $0.cancel(self) }) { return wasToFire }
    switch owner.cancel() {
    case .wasFree:
      callback = nil
      return true
    case .wasCancelled: return false
    // Added just now.
    case .isOwned(let items): return items.cancel(self)
    }
  }

  /// Cancels, and waits until a firing that has begun is over: afterwards the closure is not being
  /// called.
  ///
  /// On the loop's own thread, which would wait for itself, it does not wait.
  ///
  /// - Returns: As ``cancel()``.
  @available(*, noasync, message: "cancelAndWait blocks the calling thread")
  @discardableResult
  public func cancelAndWait() -> Bool {
    let wasToFire = cancel()
    guard let items = owner.items, let seen = items.firingToWaitFor(self) else { return wasToFire }
    // acquiring: pairs with the release in noteEnd(), for what the closure wrote.
    while endedFirings.load(ordering: .acquiring) == seen {
      _ = Futex.wait(endedFirings, while: seen)
    }
    return wasToFire
  }

  /// Sets the next firing to another moment; a repeating timer goes on from there. In the closure
  /// it makes a timer that fires once fire again.
  ///
  /// For a timer of another clock than the monotonic one, the moment is taken as that far from now.
  ///
  /// - Returns: Whether the timer is on a loop and was not done: if not, nothing has changed.
  /// - Complexity: O(log n) in the timers of the loop.
  @discardableResult
  public func reschedule(at moment: MonotonicInstant) -> Bool {
    let new: NewMoment =
      if clock == .monotonic {
        .onItsClock(moment.nanoseconds)
      } else {
        .fromNow(MonotonicInstant.now.duration(to: moment))
      }
    return owner.items?.reschedule(self, at: new, interval: nil) ?? false
  }

  /// Sets the next firing to another moment of the timer's own clock.
  ///
  /// - Returns: Whether the timer is on a loop and was not done: if not, nothing has changed.
  /// - Precondition: The moment is of the timer's clock. If it is not, the program stops.
  /// - Complexity: O(log n) in the timers of the loop.
  @discardableResult
  public func reschedule(at moment: TimerMoment) -> Bool {
    require(
      moment.clock == clock,
      "ThreadTimer.reschedule: a moment of the \(moment.clock) clock for a timer that goes by the "
        + "\(clock) clock")
    let new = NewMoment.onItsClock(moment.nanoseconds)
    return owner.items?.reschedule(self, at: new, interval: nil) ?? false
  }

  /// Gives the timer another interval, and makes it a repeating one if it was not.
  ///
  /// - Parameters:
  ///   - interval: The time between two firings, from zero up.
  ///   - first: The next firing, as in `reschedule(at:)`; one interval from now if nil.
  /// - Returns: Whether the timer is on a loop and was not done: if not, nothing has changed.
  /// - Throws: EINVAL for a negative interval.
  /// - Complexity: O(log n) in the timers of the loop.
  @discardableResult
  public func reschedule(
    every interval: Duration, startingAt first: MonotonicInstant? = nil
  ) throws(ThreadingError) -> Bool {
    try Self.check(interval)
    let distance = first.map { MonotonicInstant.now.duration(to: $0) } ?? interval
    let new: NewMoment =
      if let first, clock == .monotonic {
        .onItsClock(first.nanoseconds)
      } else {
        .fromNow(distance)
      }
    return owner.items?.reschedule(self, at: new, interval: interval.saturatedNanoseconds) ?? false
  }

  /// Keeps the timer from firing until ``resume()``. It still is something to wait for.
  ///
  /// Its moments go on: what passed meanwhile is, after the pause, as if the loop had been busy.
  ///
  /// - Returns: Whether the timer is on a loop and was not done.
  @discardableResult
  public func pause() -> Bool { owner.items?.pause(self) ?? false }

  /// Ends a pause.
  ///
  /// - Returns: Whether the timer is on a loop and was not done.
  @discardableResult
  public func resume() -> Bool { owner.items?.resume(self) ?? false }

  // MARK: - For the loop

  /// When a timer is to fire instead.
  enum NewMoment {
    case onItsClock(Int64)
    case fromNow(Duration)
  }

  /// A closure as it is kept: in a structure, which generic code hands on without wrapping the closure
  /// anew.
  struct Callback {
    let body: Body
  }

  /// Where the timer stands.
  enum Phase {
    case scheduled
    case firing
    case finished
  }

  let owner = ItemOwner()
  let toleranceNanoseconds: Int64
  /// The interval while the timer is on no loop.
  private let intervalBefore: Int64
  /// Counts the calls of the closure that are over, for those who wait for that.
  let endedFirings = Atomic<UInt32>(0)

  // SAFETY of @unchecked: the variables below are guarded by the lock of the owner's items. Before
  // there is an owner, `scheduled` and `callback` are only touched by init, and by the one call that
  // moves `owner` on: a claim hands them to the lock, a cancel drops the closure.
  var phase = Phase.scheduled
  /// What is called; nil during the call, and when the timer is done.
  var callback: Callback?
  /// The next moment of the grid, in nanoseconds of the timer's clock.
  var scheduled: Int64
  /// The heap by its number in the items, and the slot there; -1 when in none.
  var heapNumber: Int32 = 0
  var heapSlot: Int32 = -1

  /// The interval; negative for a timer that fires once.
  var intervalNanoseconds: Int64
  var isPaused = false
  /// Whether the timer was set to another moment during the call of its closure.
  var isRescheduled = false
  /// Whether somebody waits for the call of the closure to end.
  var hasWaiter = false
  var isInCall = false

  var repeats: Bool { intervalNanoseconds >= 0 }
  var willFireAgain: Bool { repeats || isRescheduled }

  /// The call of the closure is over. With the lock held.
  func noteEnd() {
    isInCall = false
    // releasing: pairs with the acquire in cancelAndWait(). Written with the lock held alone.
    endedFirings.store(endedFirings.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    if hasWaiter {
      hasWaiter = false
      Futex.wakeAll(endedFirings)
    }
  }
}
