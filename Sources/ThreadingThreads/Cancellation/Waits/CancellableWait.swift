public import ThreadingPlatform

extension ThreadHandle {
  /// Makes a wait with a limit that also ends when the calling thread is cancelled.
  ///
  /// The waits of the family `...UnlessCancelled` are made of this; it serves for all others of the
  /// toolkit that take a moment as their limit:
  ///
  /// ```swift
  /// let isThere = try ThreadHandle.waitUnlessCancelled(for: .seconds(1)) {
  ///   box.wait(while: 0, until: $0) != nil
  /// }
  /// ```
  ///
  /// A cancelled thread does not begin to sleep; what can be had without sleeping it still gets.
  ///
  /// - Parameters:
  ///   - deadline: when to give up.
  ///   - wait: makes one wait, with the moment that it is handed as its limit, and answers whether
  ///     what was waited for has come. Waits of the family that it makes itself are waits of their own.
  /// - Returns: what `wait` returned: false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the wait has ended without result and the
  ///   thread is cancelled.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public static func waitUnlessCancelled(
    until deadline: MonotonicInstant = .distantFuture, _ wait: (MonotonicInstant) -> Bool
  ) throws(ThreadCancelled) -> Bool {
    let isOver = interruptibly(until: deadline) { wait($0) }
    if !isOver { try checkCancellation() }
    return isOver
  }

  /// Makes a wait with a limit that also ends when the calling thread is cancelled; see
  /// ``waitUnlessCancelled(until:_:)``.
  ///
  /// - Parameters:
  ///   - duration: the longest time to wait, on the monotonic clock.
  ///   - wait: as there.
  /// - Returns: what `wait` returned: false only when the time was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, as there.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public static func waitUnlessCancelled(
    for duration: Duration, _ wait: (MonotonicInstant) -> Bool
  ) throws(ThreadCancelled) -> Bool {
    try waitUnlessCancelled(until: .now.advanced(by: duration), wait)
  }

  /// Makes one wait of the calling thread whose moment comes early when the thread is cancelled. All
  /// waits of the family are made of this, whatever their answer; who finds by the answer that the
  /// moment has come looks next whether the thread was cancelled: ``checkCancellation()``.
  ///
  /// - Parameters:
  ///   - deadline: when to give up.
  ///   - wait: makes the wait, with the moment that it is handed as its limit; see ``WaitInterruption``.
  /// - Returns: what `wait` returned.
  /// - Throws: what `wait` throws.
  static func interruptibly<Answer: ~Copyable, Failure: Error>(
    until deadline: MonotonicInstant, _ wait: (MonotonicInstant) throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    let thread = current
    let turn = thread.cancellation.interruption.begin(until: deadline)
    defer { WaitInterruption.end(turn) }
    return try wait(turn.limit)
  }
}
