import Threading

/// Measures how responsive a run loop is: a timer on it beats every few milliseconds, and how late a
/// beat comes is how long the loop could not have answered a key or a click.
final class Heartbeat: Sendable {
  /// The time between two beats. Shorter delays than this may go unseen.
  static let interval = Duration.milliseconds(5)

  /// What was measured.
  struct Measure: Equatable, Sendable {
    var beats = 0

    /// The most that a beat came late.
    var longestDelay = Duration.zero

    /// The same without the time in which the thread was ready to go on and other threads had the
    /// processors: what is the program's own. Nil if the system does not tell.
    var longestOwnDelay: Duration?

    /// The moment for which the next beat is planned.
    fileprivate var next: MonotonicInstant
    fileprivate var waited = ProcessorWait.ofCurrentThread

    fileprivate init(next: MonotonicInstant) {
      self.next = next
    }

    fileprivate mutating func note(planned: MonotonicInstant) {
      let delay = planned.duration(to: .now)
      longestDelay = max(longestDelay, delay)
      guard let before = waited, let now = ProcessorWait.ofCurrentThread else { return }
      longestOwnDelay = max(longestOwnDelay ?? .zero, delay - (now - before))
      waited = now
    }
  }

  private let measure: LoopBound<Measure>
  private let timer: ThreadTimer

  /// Begins to measure the calling thread's loop.
  ///
  /// - Throws: `ThreadingError` if the timer is refused.
  init() throws(ThreadingError) {
    let first = MonotonicInstant.now.advanced(by: Self.interval)
    let measure = LoopBound(Measure(next: first))
    self.measure = measure
    timer = try ThreadTimer(every: Self.interval, startingAt: first) { firing in
      measure.withValue { measure in
        measure.beats += 1
        measure.note(planned: firing.scheduled)
        measure.next = MonotonicInstant.now.advanced(by: Self.interval)
      }
    }
    try ThreadRunLoop.current.add(timer)
  }

  /// Ends the measuring, and counts the time since the last beat that was due.
  ///
  /// - Returns: what was measured.
  func stop() -> Measure {
    timer.cancel()
    return measure.withValue { measure in
      measure.note(planned: measure.next)
      return measure
    }
  }
}
