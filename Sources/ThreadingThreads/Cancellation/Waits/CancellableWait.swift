public import ThreadingPlatform

/// One wait of the calling thread that ends when the thread is cancelled.
///
/// It is a wait with a limit, ``limit``, whose moment comes early when the thread is cancelled: see
/// ``WaitInterruption``.
struct CancellableWait: ~Copyable {
  private let thread: ThreadHandle

  /// What to wait with.
  let limit: MonotonicInstant

  init(until deadline: MonotonicInstant) {
    thread = .current
    limit = thread.cancellation.interruption.begin(until: deadline)
  }

  /// Ends the wait.
  ///
  /// - Parameter isOver: whether what was waited for has come.
  /// - Returns: the same.
  /// - Throws: ``ThreadCancelled`` if it has not, and the thread is cancelled.
  consuming func end(_ isOver: Bool) throws(ThreadCancelled) -> Bool {
    WaitInterruption.end()
    if !isOver && thread.isCancelled {
      throw ThreadCancelled(reason: thread.cancellationReason)
    }
    return isOver
  }
}

extension ThreadHandle {
  /// Makes a wait with a limit that also ends when the calling thread is cancelled.
  ///
  /// The waits of the family `...UnlessCancelled` are made of this; it serves for all others of the
  /// toolkit that take a moment as their limit:
  ///
  /// ```swift
  /// try ThreadHandle.waitUnlessCancelled(for: .seconds(1)) { box.wait(while: 0, until: $0) != nil
  /// }
  /// ```
  ///
  /// A cancelled thread does not begin to sleep; what can be had without sleeping it still gets.
  ///
  /// - Parameters:
  ///   - deadline: when to give up.
  ///   - wait: makes one wait, with the moment that it is handed as its limit, and answers whether
  ///     what was waited for has come. It must not call this function again.
  /// - Returns: what `wait` returned: false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the wait has ended without result and the
  ///   thread
  ///   is cancelled.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public static func waitUnlessCancelled(
    until deadline: MonotonicInstant = .distantFuture, _ wait: (MonotonicInstant) -> Bool
  ) throws(ThreadCancelled) -> Bool {
    let pending = CancellableWait(until: deadline)
    let isOver = wait(pending.limit)
    return try pending.end(isOver)
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
}
