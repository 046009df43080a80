public import ThreadingLocks
public import ThreadingPlatform

// Waits that end when the waiting thread is cancelled. What is there at once is had by a cancelled
// thread too: only a thread that would sleep looks at the request.

extension BoundedQueue {
  /// Puts an element at the end, sleeping while the queue is full, unless the calling thread is
  /// cancelled or a moment comes first.
  ///
  /// - Parameters:
  ///   - element: what to put; it is let go of if there is no place for it.
  ///   - deadline: when to give up.
  /// - Returns: whether the element is in the queue; false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before; ``QueueClosed``
  ///   if the queue is closed, before or meanwhile.
  @available(*, noasync, message: "putUnlessCancelled blocks the calling thread")
  @discardableResult
  public func putUnlessCancelled(
    _ element: consuming sending Element, until deadline: MonotonicInstant = .distantFuture
  ) throws -> Bool {
    let turn = ThreadHandle.current.cancellation.interruption.begin(until: deadline)
    defer { WaitInterruption.end(turn) }
    if try put(element, until: turn.limit) { return true }
    try ThreadHandle.checkCancellation()
    return false
  }

  /// Puts an element at the end, sleeping while the queue is full, unless the calling thread is
  /// cancelled or `duration` passes first.
  ///
  /// - Parameters:
  ///   - element: what to put; it is let go of if there is no place for it.
  ///   - duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the element is in the queue; false only when the time was up first.
  /// - Throws: as ``putUnlessCancelled(_:until:)``.
  @available(*, noasync, message: "putUnlessCancelled blocks the calling thread")
  public func putUnlessCancelled(
    _ element: consuming sending Element, for duration: Duration
  ) throws -> Bool {
    try putUnlessCancelled(element, until: .now.advanced(by: duration))
  }

  /// Takes the oldest element, sleeping while the queue is empty, unless the calling thread is
  /// cancelled or a moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: the element; nil only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before; ``QueueClosed``
  ///   if the queue is empty and closed, before or meanwhile.
  @available(*, noasync, message: "takeUnlessCancelled blocks the calling thread")
  public func takeUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws -> sending Element? {
    let turn = ThreadHandle.current.cancellation.interruption.begin(until: deadline)
    defer { WaitInterruption.end(turn) }
    if let element = try take(until: turn.limit) { return element }
    try ThreadHandle.checkCancellation()
    return nil
  }

  /// Takes the oldest element, sleeping while the queue is empty, unless the calling thread is
  /// cancelled first.
  ///
  /// - Returns: the element.
  /// - Throws: as ``takeUnlessCancelled(until:)``.
  @available(*, noasync, message: "takeUnlessCancelled blocks the calling thread")
  public func takeUnlessCancelled() throws -> sending Element {
    guard let element = try takeUnlessCancelled(until: .distantFuture) else {
      fatalError("BoundedQueue.takeUnlessCancelled: a wait without a limit came to an end")
    }
    return element
  }

  /// Takes the oldest element, sleeping while the queue is empty, unless the calling thread is
  /// cancelled or `duration` passes first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: the element; nil only when the time was up first.
  /// - Throws: as ``takeUnlessCancelled(until:)``.
  @available(*, noasync, message: "takeUnlessCancelled blocks the calling thread")
  public func takeUnlessCancelled(for duration: Duration) throws -> sending Element? {
    try takeUnlessCancelled(until: .now.advanced(by: duration))
  }
}
