internal import Synchronization
public import ThreadingPlatform

extension Locked where Value: ~Copyable {
  /// Sleeps until `condition` holds of the value, then runs `body` with the lock held.
  ///
  /// ```swift
  /// let job = jobs.withLock(when: { !$0.isEmpty }) { $0.removeFirst() }
  /// ```
  ///
  /// Nobody has to signal: each thread that gives the lock back asks the conditions of those that
  /// wait, oldest first, and wakes the first whose condition holds. A thread that comes at that
  /// moment may still be quicker than the one that is woken, which then waits on in its place.
  /// Waiting costs an allocation when the condition does not hold at once, and giving the lock back
  /// is the dearer the more threads wait.
  ///
  /// - Parameters:
  ///   - condition: What is waited for. It is asked by other threads too, with the lock held: it
  ///     must be short, must not block, and must depend on the value alone.
  ///   - body: What to do with the value; the condition holds when it begins.
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread is not inside another call on the same object. If it is,
  ///   the program stops.
  @available(*, noasync, message: "waiting blocks the calling thread")
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    when condition: @escaping @Sendable (borrowing Value) -> Bool,
    _ body: (inout sending Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = lock(when: condition, until: .distantFuture)
    defer { giveBack() }
    return try unsafe body(&value.pointee)
  }

  /// Sleeps until `condition` holds of the value, then runs `body` with the lock held, unless a
  /// moment comes first.
  ///
  /// - Parameters:
  ///   - condition: What is waited for, as in ``withLock(when:_:)``.
  ///   - deadline: When to give up: the lock, if it cannot be had, or the condition. That is asked at
  ///     least once when the lock is had, and once more then; for this the lock is taken again.
  ///   - body: What to do with the value; the condition holds when it begins.
  /// - Returns: What `body` returned, or nil if the lock was not to be had or the condition did not
  ///   come to hold.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread is not inside another call on the same object. If it is,
  ///   the program stops.
  @available(*, noasync, message: "waiting blocks the calling thread")
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    when condition: @escaping @Sendable (borrowing Value) -> Bool, until deadline: MonotonicInstant,
    _ body: (inout sending Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let holds = lock(when: condition, until: deadline) else { return nil }
    defer { giveBack() }
    return holds ? try unsafe body(&value.pointee) : nil
  }

  /// Sleeps until `condition` holds of the value, then runs `body` with the lock held, unless
  /// `duration` passes first.
  ///
  /// - Parameters:
  ///   - condition: What is waited for, as in ``withLock(when:_:)``.
  ///   - duration: The longest time to wait, on the monotonic clock. Zero or less asks once.
  ///   - body: What to do with the value; the condition holds when it begins.
  /// - Returns: What `body` returned, or nil if the lock was not to be had or the condition did not
  ///   come to hold.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread is not inside another call on the same object. If it is,
  ///   the program stops.
  @available(*, noasync, message: "waiting blocks the calling thread")
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    when condition: @escaping @Sendable (borrowing Value) -> Bool, for duration: Duration,
    _ body: (inout sending Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try withLock(when: condition, until: .now.advanced(by: duration), body)
  }
}

/// The threads that wait for something to hold of the value of a ``Locked``.
///
/// Whenever the lock is free, either no condition in the queue holds, or a thread that has been
/// taken out of the queue is on its way to take the lock; it gives the lock back in the same
/// manner, whatever it finds. So no thread sleeps on for good while its condition holds.
private final class LockedConditions<Value: ~Copyable> {
  // Both guarded by the mutex of the ``Locked``.
  var queue = WaitQueue<Condition>()
  /// Whether a thread that has been taken out of the queue has not taken the lock yet. While it is
  /// on its way no other is woken: it would find less than it was woken for, or overtake.
  var isOneOnItsWay = false

  struct Condition: Sendable {
    let holds: @Sendable (borrowing Value) -> Bool
  }
}

extension Locked where Value: ~Copyable {
  /// Takes the lock when the condition holds, or when the moment has come.
  ///
  /// - Returns: Whether the condition holds. The lock is held in either case; nil if it could not be had.
  private borrowing func lock(
    when condition: @escaping @Sendable (borrowing Value) -> Bool, until deadline: MonotonicInstant
  ) -> Bool? {
    if unsafe !header.pointee.mutex.takeIfFree() {
      guard lockSlowly(until: deadline) else { return nil }
    }
    if unsafe condition(value.pointee) { return true }
    let conditions = conditionsForWaiting()
    var isFirstTime = true
    while true {
      let waiter = Waiter(LockedConditions<Value>.Condition(holds: condition))
      // One that was woken for nothing, since another thread was quicker, keeps its place.
      if isFirstTime { conditions.queue.append(waiter) } else { conditions.queue.prepend(waiter) }
      isFirstTime = false
      giveBackSlowly()
      let wasWoken = waiter.sleep(until: deadline)
      unsafe header.pointee.mutex.lock()
      if !conditions.queue.remove(waiter) { conditions.isOneOnItsWay = false }
      if unsafe condition(value.pointee) { return true }
      if !wasWoken { return false }
    }
  }

  private borrowing func conditionsForWaiting() -> LockedConditions<Value> {
    if let known = unsafe conditions?.takeUnretainedValue() { return known }
    let made = LockedConditions<Value>()
    let address = unsafe UInt(bitPattern: Unmanaged.passRetained(made).toOpaque())
    // relaxed: the mutex is held.
    unsafe header.pointee.conditions.store(address, ordering: .relaxed)
    return made
  }

  private var conditions: Unmanaged<LockedConditions<Value>>? {
    // relaxed: the mutex is held, or access is exclusive.
    let address = unsafe header.pointee.conditions.load(ordering: .relaxed)
    return unsafe UnsafeRawPointer(bitPattern: address).map { unsafe .fromOpaque($0) }
  }

  @usableFromInline
  borrowing func giveBackSlowly() {
    let conditions = conditionsForWaiting()
    var candidate = conditions.isOneOnItsWay ? nil : conditions.queue.first
    while let waiter = candidate, unsafe !waiter.wanted.holds(value.pointee) {
      candidate = waiter.next
    }
    if let candidate {
      conditions.queue.remove(candidate)
      conditions.isOneOnItsWay = true
    }
    unsafe header.pointee.mutex.unlock()
    candidate?.grant()
  }

  @usableFromInline
  borrowing func releaseConditions() {
    guard let conditions = unsafe conditions?.takeRetainedValue() else { return }
    if let first = conditions.queue.first { Misuse.stopDestroying(name, awaitedBy: first.thread) }
  }
}
