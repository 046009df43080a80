internal import Synchronization
public import ThreadingPlatform

/// A flag that threads wait for, and that remembers when it was set before they came.
///
/// Set by hand, it stays set and lets everybody through until it is reset; automatic, it lets one
/// thread through for each time it is set, and resets itself by that.
///
/// Threads that wait when the event is set are let through even if it is reset at once. An
/// automatic event that is set twice while nobody waits lets one thread through: it is a flag, not
/// a count; see ``CountingSemaphore``.
///
/// - Note: Safe to use from any thread. What was written before ``set()`` happens before the return
///   of the waits that it ends.
public final class ResetEvent: Sendable {
  /// How the event goes back to being unset.
  public enum Reset: Sendable {
    /// By ``ResetEvent/reset()`` alone; until then every wait returns at once.
    case manual
    /// By the one thread that is let through.
    case automatic
  }

  // isSet | queue     | meaning             | leaves by
  // false | empty     | unset               | set() -> true; wait() -> joins the queue
  // false | not empty | threads wait        | set(): manual -> true, all go; automatic: first goes
  // true  | empty     | set                 | reset() -> false; automatic: wait() -> false
  //
  // It becomes true only with the lock of the queue held, and the queue is joined only with that
  // lock held while it is false: so true with a queue does not occur.
  private let isSetFlag: Atomic<Bool>
  private let queue = Locked(WaitQueue<Void>())
  private let history = SpinHistory()
  private let kind: Reset
  private let label: String?

  /// An event.
  ///
  /// - Parameters:
  ///   - kind: How it is reset.
  ///   - isSet: Whether it is set to begin with.
  ///   - label: What messages about misuse call the event.
  public init(_ kind: Reset, isSet: Bool = false, label: String? = nil) {
    self.kind = kind
    self.label = label
    isSetFlag = Atomic(isSet)
  }

  deinit {
    if let first = queue.withLock({ $0.first?.thread }) {
      Misuse.stopDestroying(Misuse.name("ResetEvent", label), awaitedBy: first)
    }
  }

  /// Whether the event is set at this moment: old news for an automatic one.
  public var isSet: Bool {
    // acquiring: pairs with the release in set().
    isSetFlag.load(ordering: .acquiring)
  }

  /// Sets the event: lets the threads that wait through (automatic: the first one), or else those
  /// that come later.
  public func set() {
    let granted = queue.withLock { queue in
      var granted = GrantList<Void>()
      while let first = queue.first {
        queue.remove(first)
        granted.append(first)
        if kind == .automatic { return granted }
      }
      // releasing: what we wrote is visible to the waits that find the event set.
      isSetFlag.store(true, ordering: .releasing)
      return granted
    }
    granted.grantAll()
  }

  /// Makes the event unset, so that threads wait again.
  ///
  /// - Returns: Whether it was set.
  @discardableResult
  public func reset() -> Bool {
    // acquiring: the caller may go on as if it had waited.
    isSetFlag.exchange(false, ordering: .acquiring)
  }

  /// Takes the event if it is set at this moment.
  ///
  /// - Returns: Whether it was; an automatic event is then unset.
  public func tryWait() -> Bool {
    switch kind {
    // acquiring, both: pair with the release in set().
    case .manual: isSetFlag.load(ordering: .acquiring)
    case .automatic:
      isSetFlag.compareExchange(expected: true, desired: false, ordering: .acquiring).exchanged
    }
  }

  /// Sleeps until the event is set. Costs one atomic step when it is.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait() {
    _ = wait(until: .distantFuture)
  }

  /// Sleeps until the event is set or a moment has come.
  ///
  /// - Returns: Whether the event was set; an automatic event has then let this thread through.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(until deadline: MonotonicInstant) -> Bool {
    if tryWait() || history.look(until: deadline, for: { isSet && tryWait() }) { return true }
    let waiter = Waiter(())
    let passed = queue.withLock { queue in
      if tryWait() { return true }
      queue.append(waiter)
      return false
    }
    if passed || waiter.sleep(until: deadline) { return true }
    // Not in the queue any more: let through meanwhile.
    return queue.withLock { !$0.remove(waiter) }
  }

  /// Sleeps until the event is set or `duration` has passed.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less looks
  ///   once.
  /// - Returns: Whether the event was set; an automatic event has then let this thread through.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(for duration: Duration) -> Bool {
    tryWait() || wait(until: .now.advanced(by: duration))
  }
}
