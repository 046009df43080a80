import Threading

/// Measures how long something takes.
enum Stopwatch {
  /// The time of one run.
  ///
  /// - Throws: what `body` throws.
  static func time<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> Duration {
    let start = MonotonicInstant.now
    try body()
    return start.duration(to: .now)
  }

  /// The mean time of something that is done many times, but for half a second at most: on a busy machine
  /// each time may take long.
  ///
  /// - Throws: what `body` throws.
  static func mean<Failure: Error>(
    of most: Int, _ body: () throws(Failure) -> Void
  ) throws(Failure) -> Duration {
    let start = MonotonicInstant.now
    let deadline = start.advanced(by: .milliseconds(500))
    var count = 0
    repeat {
      try body()
      count += 1
    } while count < most && MonotonicInstant.now < deadline
    return start.duration(to: .now) / count
  }

  /// The shortest time of one operation, of a few rounds of many: what others do on the machine only
  /// makes it longer.
  static func nanoseconds(perEachOf count: Int, rounds: Int = 3, _ body: () -> Void) -> Double {
    (0..<rounds).map { _ in time(body) / .nanoseconds(1) }.min()! / Double(count)
  }
}
