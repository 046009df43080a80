import ThreadingPlatform

/// Measures a stretch of code.
struct Stopwatch {
  private let start = MonotonicInstant.now.nanoseconds

  /// Nanoseconds since the stopwatch was made.
  var nanoseconds: Int64 { MonotonicInstant.now.nanoseconds - start }
}
