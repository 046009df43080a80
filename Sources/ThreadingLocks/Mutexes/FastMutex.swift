public import CThreadingPlatform
public import Synchronization
public import ThreadingPlatform

/// A lock for short critical sections: one 32-bit word, no allocation, no system call unless a
/// thread has to sleep or be woken.
///
/// A thread that finds the lock held spins for some 10 us at most and then sleeps in the kernel; with
/// one processor it sleeps at once. The lock is not fair: a running thread may take it ahead of one
/// that is being woken, which is what keeps it fast under contention. But nobody is overtaken for
/// ever: once a thread has waited for a millisecond, the lock goes to those that have waited so long,
/// oldest first, until none of them is left; after four milliseconds a thread that still sleeps sees to
/// that itself. It is not recursive, and it does not
/// lend its owner the priority of those that wait.
///
/// The word holds the owner's kernel thread id, so misuse is found in every build: locking again
/// by the owner, unlocking by anybody else, and destroying the lock while it is held stop the
/// program with a message that names the threads and the lock's address.
///
/// Keep it as a `let` property of a class, a global, or inside such a place, and use ``Locked``
/// where the lock guards a value. After a `fork`, the child is another thread: it cannot unlock
/// what its parent held at that moment.
///
/// - Note: Safe to use from any thread. Everything written before ``unlock()`` happens before the
///   next ``lock()`` returns.
public struct FastMutex: ~Copyable, Sendable {
  // State                      | meaning                        | leaves by
  // 0                          | free                           | lock() -> owner, with `waiters`
  //                            |                                | by a thread that has slept
  // owner                      | held, nobody sleeps            | unlock() -> 0; waiter sets
  //                            |                                | `waiters`, perhaps `overdue` too
  // owner + waiters            | held, a thread may be sleeping | unlock() -> 0, and wakes one;
  //                            |                                | waiter sets `overdue`
  // owner + waiters + overdue  | held, a thread has waited for  | unlock() -> waiters + overdue, and
  //                            | too long                       | wakes one
  // waiters + overdue          | kept for threads that have     | such a thread -> owner + waiters,
  //                            | slept, those that are overdue  | + overdue if it is overdue itself
  //                            | before others; nobody holds it |
  //
  // Kernel thread ids are below 2^22 (see proc(5), pid_max), so the two top bits are free.
  //
  // `waiters` may be set with nobody asleep (one wake too many), never clear with somebody asleep
  // and no thread on its way to take the lock: a thread that has slept takes the lock with the bit
  // set, or sets it before it sleeps again.
  //
  // Nor may the lock be kept for threads that are not there, all of them having given up: so one
  // that comes anew and finds it kept sleeps for a moment only, and is then one of those that it is
  // kept for. tryLock() takes a lock that is kept, since it may not say that a free one is held.
  @usableFromInline let word = Atomic<UInt32>(0)

  @inlinable static var waiters: UInt32 { 1 << 31 }
  @inlinable static var overdue: UInt32 { 1 << 30 }
  /// The bits of the owner's id.
  @inlinable static var owner: UInt32 { overdue - 1 }

  /// A free lock.
  @inlinable
  public init() {}

  @inlinable
  deinit {
    // relaxed: whoever destroys the lock has exclusive access to it.
    let last = word.load(ordering: .relaxed)
    if last & Self.owner != 0 { stopDestroying(last) }
  }

  /// Takes the lock, sleeping until it is free.
  ///
  /// Costs one compare-and-swap and one thread-local read when the lock is free.
  ///
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func lock() {
    let me = ctp_thread_id()
    // acquiring: pairs with the release in unlock().
    if !word.compareExchange(expected: 0, desired: me, ordering: .acquiring).exchanged {
      lockSlowly(me, until: .distantFuture)
    }
  }

  /// Takes the lock if it is free at this moment.
  ///
  /// - Returns: Whether the calling thread has taken the lock; false also when it already held it.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func tryLock() -> Bool { takeIfFree() || takeIfKept() }

  /// The fast path of all that take the lock.
  @inlinable
  borrowing func takeIfFree() -> Bool {
    // acquiring: pairs with the release in unlock().
    word.compareExchange(expected: 0, desired: ctp_thread_id(), ordering: .acquiring).exchanged
  }

  /// Takes the lock, sleeping until it is free or a moment has come.
  ///
  /// - Returns: Whether the calling thread now holds the lock. It is tried at least once, even when
  ///   the moment has passed; false is never returned before the moment.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func lock(until deadline: MonotonicInstant) -> Bool {
    takeIfFree() || lockSlowly(ctp_thread_id(), until: deadline)
  }

  /// Takes the lock, sleeping until it is free or for as long as `duration`.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the calling thread now holds the lock.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func lock(for duration: Duration) -> Bool {
    takeIfFree() || lock(until: .now.advanced(by: duration))
  }

  /// Gives the lock back and wakes one thread that sleeps for it, if any.
  ///
  /// - Precondition: The calling thread holds the lock. If it does not, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @inlinable
  public borrowing func unlock() {
    let me = ctp_thread_id()
    // releasing: the next owner's acquire makes what we wrote visible to it.
    if !word.compareExchange(expected: me, desired: 0, ordering: .releasing).exchanged {
      unlockSlowly(me)
    }
  }

  /// Runs `body` with the lock held.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread does not hold the lock. If it does, the program stops.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Runs `body` with the lock held if the lock is free at this moment.
  ///
  /// - Returns: What `body` returned, or nil if the lock was held.
  /// - Throws: What `body` throws, after the lock has been given back.
  @inlinable
  public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard tryLock() else { return nil }
    defer { unlock() }
    return try body()
  }

  /// Whether the calling thread holds the lock. A held lock of another thread answers false.
  @inlinable
  public var isHeldByCurrentThread: Bool {
    // relaxed: only the owner itself can find its own id, which it wrote.
    word.load(ordering: .relaxed) & Self.owner == ctp_thread_id()
  }
}
