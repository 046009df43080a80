public import ThreadingPlatform

extension ManagedThread {
  /// Waits for the thread's end as `join()` does, unless the *calling* thread is cancelled or a
  /// moment comes first. It counts as a join with a limit: it closes no ring of joins, since
  /// cancelling ends it.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: the body's value; nil only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the calling thread is cancelled first; as
  ///   `join()` otherwise.
  @available(*, noasync, message: "joinUnlessCancelled blocks the calling thread")
  @discardableResult
  public func joinUnlessCancelled(
    until deadline: MonotonicInstant = .distantFuture
  ) throws -> Output? {
    let result = try ThreadHandle.interruptibly(until: deadline) { limit throws(ThreadingError) in
      try self.result(until: limit)
    }
    if result == nil { try ThreadHandle.checkCancellation() }
    return try result?.get()
  }

  /// Waits for the thread's end as `join()` does, unless the *calling* thread is cancelled or the
  /// time is up first.
  ///
  /// - Parameter limit: the longest time to wait, on the monotonic clock.
  /// - Returns: the body's value; nil only when the time was up first.
  /// - Throws: as ``joinUnlessCancelled(until:)``.
  @available(*, noasync, message: "joinUnlessCancelled blocks the calling thread")
  @discardableResult
  public func joinUnlessCancelled(for limit: Duration) throws -> Output? {
    try joinUnlessCancelled(until: .now.advanced(by: limit))
  }
}
