public import ThreadingLocks
public import ThreadingPlatform

// Waits that end when the waiting thread is cancelled. What is there at once is had by a cancelled
// thread too: only a thread that would sleep looks at the request.

extension CountingSemaphore {
  /// Takes permits, all at once, sleeping until they are there, unless the calling thread is
  /// cancelled first.
  ///
  /// - Parameter count: how many, as for ``acquire(_:)``.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "acquireUnlessCancelled blocks the calling thread")
  public func acquireUnlessCancelled(_ count: Int = 1) throws(ThreadCancelled) {
    _ = try acquireUnlessCancelled(count, until: .distantFuture)
  }

  /// Takes permits, all at once, sleeping until they are there, unless the calling thread is
  /// cancelled or a moment comes first.
  ///
  /// - Parameters:
  ///   - count: how many, as for ``acquire(_:)``.
  ///   - deadline: when to give up.
  /// - Returns: whether the permits were taken: all of them, or none; false only when the moment
  ///   came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "acquireUnlessCancelled blocks the calling thread")
  public func acquireUnlessCancelled(
    _ count: Int = 1, until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { acquire(count, until: $0) }
  }

  /// Takes permits, all at once, sleeping until they are there, unless the calling thread is
  /// cancelled or `duration` passes first.
  ///
  /// - Parameters:
  ///   - count: how many, as for ``acquire(_:)``.
  ///   - duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the permits were taken: all of them, or none; false only when the time was
  ///   up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "acquireUnlessCancelled blocks the calling thread")
  public func acquireUnlessCancelled(
    _ count: Int = 1, for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try acquireUnlessCancelled(count, until: .now.advanced(by: duration))
  }
}

extension CountdownLatch {
  /// Sleeps until the gate is open, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled() throws(ThreadCancelled) {
    _ = try waitUnlessCancelled(until: .distantFuture)
  }

  /// Sleeps until the gate is open, unless the calling thread is cancelled or a moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the gate is open; false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { wait(until: $0) }
  }

  /// Sleeps until the gate is open, unless the calling thread is cancelled or `duration` passes
  /// first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the gate is open; false only when the time was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try waitUnlessCancelled(until: .now.advanced(by: duration))
  }
}

extension ResetEvent {
  /// Sleeps until the event is set, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled() throws(ThreadCancelled) {
    _ = try waitUnlessCancelled(until: .distantFuture)
  }

  /// Sleeps until the event is set, unless the calling thread is cancelled or a moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the event was set; an automatic event has then let this thread through;
  ///   false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { wait(until: $0) }
  }

  /// Sleeps until the event is set, unless the calling thread is cancelled or `duration` passes
  /// first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the event was set; an automatic event has then let this thread through;
  ///   false only when the time was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try waitUnlessCancelled(until: .now.advanced(by: duration))
  }
}

extension Parker {
  /// Takes the permit, sleeping until it is there, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "parkUnlessCancelled blocks the calling thread")
  public func parkUnlessCancelled() throws(ThreadCancelled) {
    _ = try parkUnlessCancelled(until: .distantFuture)
  }

  /// Takes the permit, sleeping until it is there, unless the calling thread is cancelled or a
  /// moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the permit was taken; false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "parkUnlessCancelled blocks the calling thread")
  public func parkUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { park(until: $0) }
  }

  /// Takes the permit, sleeping until it is there, unless the calling thread is cancelled or
  /// `duration` passes first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the permit was taken; false only when the time was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "parkUnlessCancelled blocks the calling thread")
  public func parkUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try parkUnlessCancelled(until: .now.advanced(by: duration))
  }
}

extension Phaser {
  /// Sleeps until a phase has ended, unless the calling thread is cancelled first.
  ///
  /// - Parameter phase: as for ``wait(forEndOf:)``.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled(forEndOf phase: Int) throws(ThreadCancelled) {
    _ = try waitUnlessCancelled(forEndOf: phase, until: .distantFuture)
  }

  /// Sleeps until a phase has ended, unless the calling thread is cancelled or a moment comes
  /// first.
  ///
  /// - Parameters:
  ///   - phase: as for ``wait(forEndOf:)``.
  ///   - deadline: when to give up.
  /// - Returns: whether the phase has ended; false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled(
    forEndOf phase: Int, until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { wait(forEndOf: phase, until: $0) }
  }

  /// Sleeps until a phase has ended, unless the calling thread is cancelled or `duration` passes
  /// first.
  ///
  /// - Parameters:
  ///   - phase: as for ``wait(forEndOf:)``.
  ///   - duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the phase has ended; false only when the time was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  public func waitUnlessCancelled(
    forEndOf phase: Int, for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try waitUnlessCancelled(forEndOf: phase, until: .now.advanced(by: duration))
  }
}

extension CyclicBarrier {
  /// Sleeps until all have come, unless the calling thread is cancelled or a moment comes first.
  /// Either breaks the barrier, as the others would wait for ever.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: how the wait ended.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before all have
  ///   come.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  @discardableResult
  public func waitUnlessCancelled(
    until deadline: MonotonicInstant = .distantFuture
  ) throws(ThreadCancelled) -> Passage {
    let passage = ThreadHandle.interruptibly(until: deadline) { wait(until: $0) }
    if passage == .timedOut { try ThreadHandle.checkCancellation() }
    return passage
  }

  /// Sleeps until all have come, unless the calling thread is cancelled or `duration` passes first.
  /// Either breaks the barrier.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: how the wait ended.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before all have
  ///   come.
  @available(*, noasync, message: "waitUnlessCancelled blocks the calling thread")
  @discardableResult
  public func waitUnlessCancelled(for duration: Duration) throws(ThreadCancelled) -> Passage {
    try waitUnlessCancelled(until: .now.advanced(by: duration))
  }
}

extension Exchanger {
  /// Gives a value to another thread and takes the other's, unless the calling thread is cancelled
  /// or a moment comes first.
  ///
  /// - Parameters:
  ///   - value: what to give. Nobody has it if no other thread came.
  ///   - deadline: when to give up.
  /// - Returns: what the other thread brought; nil only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "exchangeUnlessCancelled blocks the calling thread")
  public func exchangeUnlessCancelled(
    _ value: Value, until deadline: MonotonicInstant = .distantFuture
  ) throws(ThreadCancelled) -> Value? {
    let other = ThreadHandle.interruptibly(until: deadline) { exchange(value, until: $0) }
    if other == nil { try ThreadHandle.checkCancellation() }
    return other
  }
}
