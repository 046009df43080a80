internal import CThreadingPlatform
internal import Glibc

/// A moment on the system's monotonic clock: the clock of every deadline in this package.
///
/// The clock never goes back and is not moved by a change of the date. On Linux it is
/// `CLOCK_MONOTONIC` (see `clock_gettime(2)`), which stands still while the machine is suspended.
/// Its zero is unspecified: moments are comparable within one boot of one machine.
///
/// All arithmetic saturates: a deadline too far away to be expressed is ``distantFuture``, which
/// the package's waits take as "no deadline".
public struct MonotonicInstant: InstantProtocol, Hashable, Sendable {
  /// Nanoseconds since the clock's zero.
  public let nanoseconds: Int64

  /// A moment given in nanoseconds since the clock's zero.
  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The present moment. Costs one call into the C library (about 30 ns; no system call).
  public static var now: MonotonicInstant {
    MonotonicInstant(nanoseconds: ctp_clock_nanoseconds(CLOCK_MONOTONIC))
  }

  /// A moment that never comes (some 292 years after the clock's zero).
  @inlinable
  public static var distantFuture: MonotonicInstant { MonotonicInstant(nanoseconds: .max) }

  /// The moment `duration` later, or earlier if negative. Fractions of a nanosecond are rounded up,
  /// so that a wait is never shorter than what was asked for.
  public func advanced(by duration: Duration) -> MonotonicInstant {
    if self == .distantFuture { return self }
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.saturatedNanoseconds)
    guard overflow else { return MonotonicInstant(nanoseconds: sum) }
    return MonotonicInstant(nanoseconds: duration < .zero ? .min : .max)
  }

  /// The time from this moment to another; negative if the other is earlier.
  public func duration(to other: MonotonicInstant) -> Duration {
    // Both fit in 64 bits, so the difference fits in 65: seconds and rest are taken apart first.
    let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    if !overflow { return .nanoseconds(difference) }
    return .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
  }

  /// Whether this moment is earlier than another.
  @inlinable
  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Duration {
  /// The duration in whole nanoseconds, rounded up; the nearest representable number where it does
  /// not fit.
  package var saturatedNanoseconds: Int64 {
    let total = attoseconds
    let high = Int64(truncatingIfNeeded: total >> 64)
    // From zero up to what fits by far, one division of the processor does.
    if high >= 0, high < 400_000_000 {
      let low = UInt64(truncatingIfNeeded: total)
      let (whole, rest) = UInt64(1_000_000_000).dividingFullWidth((UInt64(high), low))
      return Int64(whole) + (rest > 0 ? 1 : 0)
    }
    // `components` would stop the program for a number of seconds beyond 64 bits.
    let (whole, rest) = total.quotientAndRemainder(dividingBy: 1_000_000_000)
    // Division rounds toward zero: that is up for a negative rest, down for a positive one.
    return Int64(clamping: whole + (rest > 0 ? 1 : 0))
  }
}

extension MonotonicInstant {
  /// The moment as the C library takes it. Moments before the clock's zero become the zero: for a
  /// wait they are as past as any.
  var timespec: timespec {
    let clipped = max(0, nanoseconds)
    return Glibc.timespec(
      tv_sec: Int(clipped / 1_000_000_000), tv_nsec: Int(clipped % 1_000_000_000))
  }
}
