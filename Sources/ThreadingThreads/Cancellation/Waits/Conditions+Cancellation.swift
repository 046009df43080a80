public import ThreadingLocks
public import ThreadingPlatform

// Waits that end when the waiting thread is cancelled. What is there at once is had by a cancelled
// thread too: only a thread that would sleep looks at the request.

extension ConditionVariable {
  /// Gives the mutex back, sleeps until signalled, until a moment or until the calling thread is
  /// cancelled, and takes the mutex again.
  ///
  /// Prefer the form with a condition, which looks again by itself.
  ///
  /// - Parameters:
  ///   - mutex: the mutex that guards what is waited for. It is held when this returns or throws.
  ///   - deadline: when to give up.
  /// - Returns: false only when the moment came first. May return true without a signal.
  /// - Throws: ``ThreadCancelled`` with the reason. Whoever was signalled before is not thrown out.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  @discardableResult
  public borrowing func waitUnlessCancelled(
    _ mutex: borrowing FastMutex, until deadline: MonotonicInstant = .distantFuture
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { wait(mutex, until: $0) }
  }

  /// Sleeps until `condition` holds, until a moment or until the calling thread is cancelled;
  /// `condition` is asked with the mutex held, first of all and after each wake.
  ///
  /// - Parameters:
  ///   - mutex: the mutex that guards what is waited for. It is held when this returns or throws.
  ///   - deadline: when to give up.
  ///   - condition: what is waited for.
  /// - Returns: what `condition` said last: false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled while `condition`
  ///   does not hold.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  @discardableResult
  public borrowing func waitUnlessCancelled(
    _ mutex: borrowing FastMutex, until deadline: MonotonicInstant = .distantFuture,
    condition: () -> Bool
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) {
      wait(mutex, until: $0, condition: condition)
    }
  }

  /// Sleeps until `condition` holds, until `duration` has passed or until the calling thread is
  /// cancelled; `condition` is asked with the mutex held, first of all and after each wake.
  ///
  /// - Parameters:
  ///   - mutex: the mutex that guards what is waited for. It is held when this returns or throws.
  ///   - duration: the longest time to sleep, on the monotonic clock.
  ///   - condition: what is waited for.
  /// - Returns: what `condition` said last: false only when the time was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled while `condition`
  ///   does not hold.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  @discardableResult
  public borrowing func waitUnlessCancelled(
    _ mutex: borrowing FastMutex, for duration: Duration, condition: () -> Bool
  ) throws(ThreadCancelled) -> Bool {
    try waitUnlessCancelled(mutex, until: .now.advanced(by: duration), condition: condition)
  }
}

extension ConditionLock {
  /// Takes the lock, whatever its state, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func lockUnlessCancelled() throws(ThreadCancelled) {
    _ = try lockUnlessCancelled(until: .distantFuture)
  }

  /// Takes the lock, whatever its state, unless the calling thread is cancelled or a moment comes
  /// first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the calling thread now holds the lock; false only when the moment came
  ///   first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func lockUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { lock(until: $0) }
  }

  /// Takes the lock, whatever its state, unless the calling thread is cancelled or `duration`
  /// passes first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the calling thread now holds the lock; false only when the time was up
  ///   first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func lockUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try lockUnlessCancelled(until: .now.advanced(by: duration))
  }

  /// Takes the lock, sleeping until it is free and in a state, unless the calling thread is
  /// cancelled first.
  ///
  /// - Parameter state: the state to wait for.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func lockUnlessCancelled(when state: State) throws(ThreadCancelled) {
    _ = try lockUnlessCancelled(when: state, until: .distantFuture)
  }

  /// Takes the lock, sleeping until it is free and in a state, unless the calling thread is
  /// cancelled or a moment comes first.
  ///
  /// - Parameters:
  ///   - state: the state to wait for.
  ///   - deadline: when to give up.
  /// - Returns: whether the calling thread now holds the lock; false only when the moment came
  ///   first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func lockUnlessCancelled(
    when state: State, until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { lock(when: state, until: $0) }
  }

  /// Takes the lock, sleeping until it is free and in a state, unless the calling thread is
  /// cancelled or `duration` passes first.
  ///
  /// - Parameters:
  ///   - state: the state to wait for.
  ///   - duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the calling thread now holds the lock; false only when the time was up
  ///   first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func lockUnlessCancelled(
    when state: State, for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try lockUnlessCancelled(when: state, until: .now.advanced(by: duration))
  }
}
