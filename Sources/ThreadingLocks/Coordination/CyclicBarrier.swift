public import ThreadingPlatform

/// A place where a fixed number of threads meet, again and again: none goes on before all have
/// come.
///
/// The last to arrive runs the barrier's action, if there is one, before the others go on.
///
/// A thread that gives up waiting breaks the barrier, since the others would wait for ever: they
/// and all that come later are told so, until ``reset()``.
///
/// - Note: Safe to use from any thread. What each thread did before it arrived happens before the
///   action, and the action before any of them goes on.
public final class CyclicBarrier: Sendable {
  /// How a wait at the barrier ended.
  public enum Passage: Sendable {
    /// All have come; this thread came last, and ran the action.
    case passedLast
    /// All have come.
    case passed
    /// The moment came first. The barrier is broken by that.
    case timedOut
    /// Another thread gave up, or ``CyclicBarrier/breakUp()`` or ``CyclicBarrier/reset()`` was
    /// called.
    case broken

    /// Whether all have come.
    public var isPassed: Bool { self == .passed || self == .passedLast }
  }

  private struct Interior {
    var arrived = 0
    var meeting = Meeting()
    var isBroken = false

    /// Ends the present meeting and returns it, to be told after the lock has been given back.
    mutating func nextMeeting() -> Meeting {
      let ended = meeting
      arrived = 0
      meeting = Meeting()
      return ended
    }
  }

  /// How many threads meet.
  public let parties: Int
  private let action: (@Sendable () -> Void)?
  private let interior = Locked(Interior())
  private let label: String?

  /// A barrier for a number of threads.
  ///
  /// - Parameters:
  ///   - parties: How many, from 1. Any other number stops the program.
  ///   - label: What messages about misuse call the barrier.
  ///   - action: What the last to arrive runs, before any goes on. It must not wait at this
  ///     barrier. Where more threads than parties come, those of the next meeting may be complete, and run
  ///     it, while it still runs for this one; a ``Phaser`` runs one after the other.
  public init(_ parties: Int, label: String? = nil, action: (@Sendable () -> Void)? = nil) {
    guard parties >= 1 else {
      let name = Misuse.name("CyclicBarrier", label)
      fatalError("\(name): made for \(parties) threads; 1 or more are allowed")
    }
    self.parties = parties
    self.action = action
    self.label = label
  }

  deinit {
    // One that has given up has broken the barrier, and is not counted any more.
    let arrived = interior.withLock { $0.arrived }
    if arrived > 0 {
      Misuse.stopDestroying(Misuse.name("CyclicBarrier", label), awaitedByCount: arrived)
    }
  }

  /// How many threads wait at this moment.
  public var arrived: Int { interior.withLock { $0.arrived } }

  /// Whether the barrier is broken: every wait then returns ``Passage/broken`` at once.
  public var isBroken: Bool { interior.withLock { $0.isBroken } }

  /// Sleeps until all have come.
  ///
  /// - Returns: Whether all have come, and whether this thread came last; or that the barrier is
  ///   broken.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait() -> Passage { wait(until: .distantFuture) }

  /// Sleeps until all have come, or breaks the barrier when a moment comes first.
  ///
  /// - Returns: How the wait ended.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(until deadline: MonotonicInstant) -> Passage {
    let (meeting, isLast): (Meeting?, Bool) = interior.withLock { interior in
      if interior.isBroken { return (nil, false) }
      interior.arrived += 1
      return interior.arrived == parties
        ? (interior.nextMeeting(), true) : (interior.meeting, false)
    }
    guard let meeting else { return .broken }
    if isLast {
      action?()
      meeting.end(passed: true)
      return .passedLast
    }
    if let passed = meeting.wait(until: deadline) { return passed ? .passed : .broken }
    if breakUp(ifStill: meeting) { return .timedOut }
    // The meeting has been decided meanwhile; the news is on its way.
    return meeting.wait(until: .distantFuture) == true ? .passed : .broken
  }

  /// Sleeps until all have come, or breaks the barrier when `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock.
  /// - Returns: How the wait ended.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(for duration: Duration) -> Passage {
    wait(until: .now.advanced(by: duration))
  }

  /// Breaks the barrier: those that wait, and those that come, are told so until ``reset()``.
  public func breakUp() {
    _ = breakUp(ifStill: nil)
  }

  /// Makes the barrier whole and empty. Threads that wait are told that it is broken.
  public func reset() {
    interior.withLock { interior in
      interior.isBroken = false
      return interior.nextMeeting()
    }.end(passed: false)
  }

  private func breakUp(ifStill meeting: Meeting?) -> Bool {
    let ended: Meeting? = interior.withLock { interior in
      if let meeting, meeting !== interior.meeting { return nil }
      interior.isBroken = true
      return interior.nextMeeting()
    }
    ended?.end(passed: false)
    return ended != nil
  }
}
