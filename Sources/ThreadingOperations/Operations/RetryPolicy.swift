internal import ThreadingPlatform

/// How often work that fails is tried, and how long the pauses between are.
public struct RetryPolicy: Sendable {
  /// How often it is tried in all, at least once.
  public let attempts: Int
  /// The pause before the second attempt.
  public let pause: Duration
  /// By what each further pause is longer than the one before; 1 keeps them equal.
  public let factor: Double
  /// The longest pause.
  public let longestPause: Duration
  /// How much of a pause is left to chance, from 0 to 1, so that many that failed together do not come back
  /// together: 0.5 makes it last from half as long up to as long.
  public let jitter: Double
  private let isWorthwhile: @Sendable (any Error) -> Bool

  /// A policy.
  ///
  /// - Parameters:
  ///   - attempts: how often it is tried in all, from 1.
  ///   - pause: the pause before the second attempt, from zero.
  ///   - factor: by what each further pause is longer, from 1.
  ///   - longestPause: no pause is longer than this.
  ///   - jitter: how much of a pause is left to chance, from 0 to 1.
  ///   - isWorthwhile: whether to try again after an error; asked on the thread where it was thrown.
  /// - Precondition: The values are in those ranges. If not, the program stops.
  public init(
    attempts: Int, pause: Duration = .zero, factor: Double = 2,
    longestPause: Duration = .seconds(60), jitter: Double = 0,
    ifWorthwhile isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
  ) {
    require(attempts >= 1, "RetryPolicy: \(attempts) attempts; at least 1 is needed")
    require(pause >= .zero, "RetryPolicy: a pause of \(pause) is negative")
    require(factor >= 1, "RetryPolicy: a factor of \(factor); at least 1 is needed")
    require(
      longestPause >= .zero, "RetryPolicy: a longest pause of \(longestPause) is negative")
    require((0...1).contains(jitter), "RetryPolicy: a jitter of \(jitter) is not from 0 to 1")
    self.attempts = attempts
    self.pause = pause
    self.factor = factor
    self.longestPause = longestPause
    self.jitter = jitter
    self.isWorthwhile = isWorthwhile
  }

  /// The pause after an attempt that failed, counted from 1; nil if it was the last.
  package func pause(after attempt: Int, _ error: any Error) -> Duration? {
    guard attempt < attempts, isWorthwhile(error) else { return nil }
    var next = pause
    if pause > .zero, factor > 1 {
      for _ in 1..<attempt {
        // Compared as numbers, which have no largest one to stop at.
        if next / .seconds(1) * factor >= longestPause / .seconds(1) {
          next = longestPause
          break
        }
        next = next * factor
      }
    }
    next = min(longestPause, next)
    return jitter == 0 ? next : next * (1 - Double.random(in: 0...jitter))
  }
}
