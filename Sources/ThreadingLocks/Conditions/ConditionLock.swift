internal import CThreadingPlatform
public import ThreadingPlatform

/// A lock with a state: it can be taken when free, or when free and in the state that is wanted.
///
/// It hands work along a chain of threads: a reader takes the lock when the state is `.full` and
/// gives it back setting `.empty`, a writer the other way round.
///
/// ```swift
/// let lock = ConditionLock(Stage.empty)
/// lock.withLock(when: .empty, settingTo: .full) { buffer.append(next()) }  // one thread
/// lock.withLock(when: .full, settingTo: .empty) { use(buffer.removeLast()) }  // another
/// ```
///
/// Giving it back wakes no thread but the one that gets it: the first, in the order in which they
/// came, that waits for the new state or for any. The lock is handed to that thread, so no other
/// can change the state in between.
///
/// Comparing two states must neither block nor use this lock: it is done with the inside locked.
///
/// - Note: Safe to use from any thread. What the owner wrote before it gave the lock back happens
///   before the next owner's lock call returns.
public final class ConditionLock<State: Equatable & Sendable>: Sendable {
  /// What a thread waits for: a state, or nil for any.
  private struct Wish: Sendable {
    let state: State?
    let thread: UInt32

    func isMet(by state: State) -> Bool {
      guard let wanted = self.state else { return true }
      return wanted == state
    }
  }

  /// Whenever `owner` is 0, no waiter's wish is met by `state`: what could be met was met when the
  /// lock was given back. So a newcomer that finds the lock free overtakes nobody.
  private struct Interior: ~Copyable {
    var owner: UInt32 = 0
    var state: State
    var queue = WaitQueue<Wish>()
  }

  private let interior: Locked<Interior>
  private let label: String?

  /// A free lock in a state.
  ///
  /// - Parameters:
  ///   - state: The state to begin with.
  ///   - label: What messages about misuse call the lock.
  public init(_ state: State, label: String? = nil) {
    self.label = label
    interior = Locked(Interior(state: state))
  }

  deinit {
    let (owner, waiting) = interior.withLock { ($0.owner, $0.queue.first?.thread) }
    if owner != 0 { stop("destroyed while held by \(Misuse.holder(owner)), by \(Misuse.caller)") }
    if let waiting { Misuse.stopDestroying(name, awaitedBy: waiting) }
  }

  /// The state at this moment. Only the owner can rely on it to stay.
  public var state: State { interior.withLock { $0.state } }

  /// Whether the calling thread holds the lock.
  public var isHeldByCurrentThread: Bool {
    interior.withLock { $0.owner == ctp_thread_id() }
  }

  // MARK: Taking

  /// Takes the lock, whatever its state, sleeping until it is free.
  ///
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock() {
    _ = take(nil, until: .distantFuture)
  }

  /// Takes the lock, whatever its state, unless a moment comes first.
  ///
  /// - Returns: Whether the calling thread now holds the lock. It is tried at least once.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(until deadline: MonotonicInstant) -> Bool {
    take(nil, until: deadline)
  }

  /// Takes the lock, whatever its state, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the calling thread now holds the lock.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(for duration: Duration) -> Bool {
    take(nil, until: .now.advanced(by: duration))
  }

  /// Takes the lock, sleeping until it is free and in a state.
  ///
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(when state: State) {
    _ = take(state, until: .distantFuture)
  }

  /// Takes the lock when it is free and in a state, unless a moment comes first.
  ///
  /// - Returns: Whether the calling thread now holds the lock. It is tried at least once.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(when state: State, until deadline: MonotonicInstant) -> Bool {
    take(state, until: deadline)
  }

  /// Takes the lock when it is free and in a state, unless `duration` passes first.
  ///
  /// - Parameters:
  ///   - state: The state to wait for.
  ///   - duration: The longest time to wait, on the monotonic clock. Zero or less tries once.
  /// - Returns: Whether the calling thread now holds the lock.
  /// - Precondition: The calling thread does not hold it. If it does, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(when state: State, for duration: Duration) -> Bool {
    take(state, until: .now.advanced(by: duration))
  }

  /// Takes the lock if it is free at this moment.
  ///
  /// - Returns: Whether the calling thread has taken the lock; false also when it already held it.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func tryLock() -> Bool { tryTake(nil) }

  /// Takes the lock if it is free and in a state at this moment.
  ///
  /// - Returns: Whether the calling thread has taken the lock; false also when it already held it.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func tryLock(when state: State) -> Bool { tryTake(state) }

  // MARK: Giving back

  /// Gives the lock back in the state it has.
  ///
  /// - Precondition: The calling thread holds the lock. If it does not, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func unlock() { giveBack(nil) }

  /// Gives the lock back in a new state.
  ///
  /// - Precondition: The calling thread holds the lock. If it does not, the program stops.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func unlock(settingTo state: State) { giveBack(state) }

  /// Takes the lock when it is in a state, runs `body` and gives it back in a new state.
  ///
  /// - Parameters:
  ///   - state: The state to wait for; nil for any.
  ///   - next: The state to leave; nil leaves it as it is.
  ///   - body: What to run with the lock held.
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back in the state it had.
  /// - Precondition: The calling thread does not hold the lock. If it does, the program stops.
  @available(*, noasync, message: "waiting for a state blocks the calling thread")
  public func withLock<Result: ~Copyable, Failure: Error>(
    when state: State? = nil, settingTo next: State? = nil,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = take(state, until: .distantFuture)
    let result: Result
    do {
      result = try body()
    } catch {
      giveBack(nil)
      throw error
    }
    giveBack(next)
    return result
  }

  // MARK: How it is done

  private func tryTake(_ state: State?) -> Bool {
    let wish = Wish(state: state, thread: ctp_thread_id())
    return interior.withLock { $0.owner == 0 && wish.isMet(by: $0.state) && claim(&$0, wish) }
  }

  private func take(_ state: State?, until deadline: MonotonicInstant) -> Bool {
    let wish = Wish(state: state, thread: ctp_thread_id())
    let waiter: Waiter<Wish>? = interior.withLock { interior in
      if interior.owner == wish.thread { stop("locked again by its owner, \(Misuse.caller)") }
      if interior.owner == 0 && wish.isMet(by: interior.state) && claim(&interior, wish) {
        return nil
      }
      let waiter = Waiter(wish)
      interior.queue.append(waiter)
      return waiter
    }
    guard let waiter, !waiter.sleep(until: deadline) else { return true }
    // Not in the queue any more: the lock has been handed over meanwhile.
    return interior.withLock { !$0.queue.remove(waiter) }
  }

  private func claim(_ interior: inout Interior, _ wish: Wish) -> Bool {
    interior.owner = wish.thread
    return true
  }

  private func giveBack(_ state: State?) {
    let me = ctp_thread_id()
    let next: Waiter<Wish>? = interior.withLock { interior in
      guard interior.owner == me else {
        stop("held by \(Misuse.holder(interior.owner)), but unlocked by \(Misuse.caller)")
      }
      if let state { interior.state = state }
      var candidate = interior.queue.first
      while let waiter = candidate, !waiter.wanted.isMet(by: interior.state) {
        candidate = waiter.next
      }
      if let candidate { interior.queue.remove(candidate) }
      interior.owner = candidate?.wanted.thread ?? 0
      return candidate
    }
    next?.grant()
  }

  private func stop(_ what: String) -> Never {
    fatalError("\(name): \(what)")
  }

  private var name: String { Misuse.name("ConditionLock", label) }
}
