public import ThreadingLocks
public import ThreadingPlatform

// Waits that end when the waiting thread is cancelled. What is there at once is had by a cancelled
// thread too: only a thread that would sleep looks at the request.

extension FastMutex {
  /// Takes the lock, sleeping until it is free, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func lockUnlessCancelled() throws(ThreadCancelled) {
    _ = try lockUnlessCancelled(until: .distantFuture)
  }

  /// Takes the lock, sleeping until it is free, unless the calling thread is cancelled or a moment
  /// comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the calling thread now holds the lock; false only when the moment came
  ///   first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func lockUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { lock(until: $0) }
  }

  /// Takes the lock, sleeping until it is free, unless the calling thread is cancelled or
  /// `duration` passes first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the calling thread now holds the lock; false only when the time was up
  ///   first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func lockUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try lockUnlessCancelled(until: .now.advanced(by: duration))
  }
}

extension RecursiveLock {
  /// Takes the lock, sleeping until it is free or the thread's own, unless the calling thread is
  /// cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func lockUnlessCancelled() throws(ThreadCancelled) {
    _ = try lockUnlessCancelled(until: .distantFuture)
  }

  /// Takes the lock, sleeping until it is free or the thread's own, unless the calling thread is
  /// cancelled or a moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the calling thread has taken the lock once more; false only when the moment
  ///   came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func lockUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { lock(until: $0) }
  }

  /// Takes the lock, sleeping until it is free or the thread's own, unless the calling thread is
  /// cancelled or `duration` passes first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the calling thread has taken the lock once more; false only when the time
  ///   was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func lockUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try lockUnlessCancelled(until: .now.advanced(by: duration))
  }
}

extension FairMutex {
  /// Takes the lock, in the order of arrival, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func lockUnlessCancelled() throws(ThreadCancelled) {
    _ = try lockUnlessCancelled(until: .distantFuture)
  }

  /// Takes the lock, in the order of arrival, unless the calling thread is cancelled or a moment
  /// comes first.
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

  /// Takes the lock, in the order of arrival, unless the calling thread is cancelled or `duration`
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
}

extension ReadWriteLock {
  /// Takes the lock for reading with the right to upgrade, unless the calling thread is cancelled or
  /// a moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the calling thread now holds the lock in this way; false only when the
  ///   moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  @discardableResult
  public borrowing func upgradableLockUnlessCancelled(
    until deadline: MonotonicInstant = .distantFuture
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { upgradableLock(until: $0) }
  }

  /// Turns upgradable reading into writing, unless the calling thread is cancelled or a moment comes
  /// first. If so, it still holds the lock for upgradable reading.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the lock is now held for writing; false only when the moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  @discardableResult
  public borrowing func upgradeUnlessCancelled(
    until deadline: MonotonicInstant = .distantFuture
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { upgrade(until: $0) }
  }

  /// Takes the lock for reading, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func readLockUnlessCancelled() throws(ThreadCancelled) {
    _ = try readLockUnlessCancelled(until: .distantFuture)
  }

  /// Takes the lock for reading, unless the calling thread is cancelled or a moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the calling thread now holds the lock for reading; false only when the
  ///   moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func readLockUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { readLock(until: $0) }
  }

  /// Takes the lock for reading, unless the calling thread is cancelled or `duration` passes first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the calling thread now holds the lock for reading; false only when the time
  ///   was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func readLockUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try readLockUnlessCancelled(until: .now.advanced(by: duration))
  }

  /// Takes the lock for writing, unless the calling thread is cancelled first.
  ///
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func writeLockUnlessCancelled() throws(ThreadCancelled) {
    _ = try writeLockUnlessCancelled(until: .distantFuture)
  }

  /// Takes the lock for writing, unless the calling thread is cancelled or a moment comes first.
  ///
  /// - Parameter deadline: when to give up.
  /// - Returns: whether the calling thread now holds the lock for writing; false only when the
  ///   moment came first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func writeLockUnlessCancelled(
    until deadline: MonotonicInstant
  ) throws(ThreadCancelled) -> Bool {
    try ThreadHandle.waitUnlessCancelled(until: deadline) { writeLock(until: $0) }
  }

  /// Takes the lock for writing, unless the calling thread is cancelled or `duration` passes first.
  ///
  /// - Parameter duration: the longest time to wait, on the monotonic clock.
  /// - Returns: whether the calling thread now holds the lock for writing; false only when the time
  ///   was up first.
  /// - Throws: ``ThreadCancelled`` with the reason, if the thread is cancelled before.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public borrowing func writeLockUnlessCancelled(
    for duration: Duration
  ) throws(ThreadCancelled) -> Bool {
    try writeLockUnlessCancelled(until: .now.advanced(by: duration))
  }
}
