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

  /// The shortest time of one operation, of a few rounds of many: what others do on the machine only
  /// makes it longer.
  static func nanoseconds(perEachOf count: Int, rounds: Int = 3, _ body: () -> Void) -> Double {
    (0..<rounds).map { _ in time(body) / .nanoseconds(1) }.min()! / Double(count)
  }
}
