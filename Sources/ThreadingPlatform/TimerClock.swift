/// A clock that a timer can go by.
public enum TimerClock: Hashable, Sendable, CaseIterable {
  /// The clock of ``MonotonicInstant``: never set, and still while the machine is suspended.
  case monotonic
  /// The time since the machine was started: never set, and goes on while the machine is suspended.
  /// A timer that came due meanwhile fires at once when the machine goes on.
  case boot
  /// The time of day, as nanoseconds since the beginning of 1970 (UTC). It is set at times, by hand
  /// or by a time server: a timer fires when the clock shows its moment, however it came to do so.
  case wall
}

/// A moment on one of the clocks that timers go by.
public struct TimerMoment: Hashable, Sendable {
  /// The clock that shows it.
  public let clock: TimerClock

  /// What the clock shows then, in nanoseconds.
  public let nanoseconds: Int64

  /// A moment on a clock, given in nanoseconds since the clock's zero.
  public init(nanoseconds: Int64, on clock: TimerClock) {
    self.clock = clock
    self.nanoseconds = nanoseconds
  }

  /// A moment on the monotonic clock.
  public init(_ moment: MonotonicInstant) {
    self.init(nanoseconds: moment.nanoseconds, on: .monotonic)
  }

  /// The moment that a clock shows at present. Costs one call into the C library.
  public static func now(on clock: TimerClock) -> TimerMoment {
    TimerMoment(nanoseconds: SystemClocks().nanoseconds(of: clock), on: clock)
  }

  /// When the time of day is so long after the beginning of 1970 (UTC).
  public static func wall(sinceEpoch duration: Duration) -> TimerMoment {
    TimerMoment(nanoseconds: duration.saturatedNanoseconds, on: .wall)
  }

  /// When the machine has been up for so long.
  public static func boot(sinceStart duration: Duration) -> TimerMoment {
    TimerMoment(nanoseconds: duration.saturatedNanoseconds, on: .boot)
  }

  /// The moment `duration` later on the same clock, or earlier if negative. What is too far away to
  /// be expressed never comes.
  public func advanced(by duration: Duration) -> TimerMoment {
    let moved = MonotonicInstant(nanoseconds: nanoseconds).advanced(by: duration)
    return TimerMoment(nanoseconds: moved.nanoseconds, on: clock)
  }
}

/// Where timers read their clocks, and are woken for them: the system, or a stand-in for it.
package protocol TimerClocks: Sendable {
  /// What a clock shows at present.
  func nanoseconds(of clock: TimerClock) -> Int64

  /// An alarm on a clock other than the monotonic one.
  ///
  /// - Throws: EMFILE or ENFILE when descriptors have run out, ENOMEM.
  func makeAlarm(on clock: TimerClock) throws(ThreadingError) -> any ClockAlarm
}

/// A descriptor that becomes readable at a moment of a clock, or when that clock was set.
package protocol ClockAlarm: AnyObject, Sendable {
  var descriptor: CInt { get }

  /// Sets the alarm to a moment, nil for never, in place of the one before.
  func set(to nanoseconds: Int64?)

  /// Makes the descriptor unreadable again.
  func clear()
}
