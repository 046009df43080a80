public import ThreadingLocks
public import ThreadingPlatform

// Waits that end when the waiting thread is cancelled. What is there at once is had by a cancelled
// thread too: only a thread that would sleep looks at the request.

extension Locked where Value: ~Copyable {
  /// Runs `body` with the lock held and access to the value, unless the calling thread is cancelled
  /// or a moment comes before the lock is had.
  ///
  /// - Parameters:
  ///   - deadline: when to give up waiting for the lock.
  ///   - body: what to do with the value.
  /// - Returns: what `body` returned; nil only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled first; what `body`
  ///   throws, after the lock has been given back.
  @available(*, noasync, message: "waiting blocks the calling thread")
  public borrowing func withLockUnlessCancelled<Result: ~Copyable>(
    until deadline: MonotonicInstant = .distantFuture,
    _ body: (inout sending Value) throws -> Result
  ) throws -> Result? {
    var hasLock = false
    let result = try ThreadHandle.interruptibly(until: deadline) { limit in
      try withLock(until: limit) { value in
        hasLock = true
        // The body makes waits of its own.
        WaitInterruption.suspend()
        return try body(&value)
      }
    }
    if !hasLock { try ThreadHandle.checkCancellation() }
    return result
  }

  /// Sleeps until `condition` holds of the value, then runs `body` with the lock held, unless the
  /// calling thread is cancelled or a moment comes first.
  ///
  /// - Parameters:
  ///   - condition: what is waited for, as for ``withLock(when:_:)``.
  ///   - deadline: when to give up.
  ///   - body: what to do with the value; the condition holds when it begins.
  /// - Returns: what `body` returned; nil only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled first; what `body`
  ///   throws, after the lock has been given back.
  @available(*, noasync, message: "waiting blocks the calling thread")
  public borrowing func withLockUnlessCancelled<Result: ~Copyable>(
    when condition: @escaping @Sendable (borrowing Value) -> Bool,
    until deadline: MonotonicInstant = .distantFuture,
    _ body: (inout sending Value) throws -> Result
  ) throws -> Result? {
    var hasLock = false
    let result = try ThreadHandle.interruptibly(until: deadline) { limit in
      try withLock(when: condition, until: limit) { value in
        hasLock = true
        // The body makes waits of its own.
        WaitInterruption.suspend()
        return try body(&value)
      }
    }
    if !hasLock { try ThreadHandle.checkCancellation() }
    return result
  }
}
