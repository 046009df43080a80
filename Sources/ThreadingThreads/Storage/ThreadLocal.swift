public import CThreadingPlatform
internal import ThreadingPlatform

/// A variable of which each thread has its own value.
///
/// ```swift
/// let scratch = ThreadLocal { [UInt8](repeating: 0, count: 4096) }
/// scratch.withValue { $0[0] = 1 }
/// ```
///
/// A thread's value is made by the closure the first time the thread asks for it. Values need not be
/// `Sendable`: only their own thread reaches them, unless the variable is made
/// ``init(isVisible:inheriting:_:)`` to be seen by others, or to be handed on to threads that the
/// thread starts.
///
/// The values of a thread are released on it when it ends, after its exit hooks and before a join
/// returns; the one that was stored first for the thread is released last. A `deinit` that runs then
/// still reaches the values that were stored before its own. The main thread's values are not released,
/// because the process ends with it. When the variable itself goes away, a thread's value of it stays
/// until the thread ends or uses a new variable in its place.
///
/// Any number of variables may be made: they need none of the system's few thread-specific keys.
///
/// - Note: Safe to use from any thread. Reading costs a thread-local read and two comparisons.
///   Not for code that suspends: after an `await` another thread may go on.
public final class ThreadLocal<Value>: Sendable {
  @usableFromInline let index: Int
  @usableFromInline let owner: UInt64
  /// Whether only the thread itself reads its value, so that it may change it in place.
  @usableFromInline let isPrivate: Bool
  private let makeValue: @Sendable () -> Value
  private let plan: ThreadLocalPlan<Value>

  /// A variable whose value for a thread is made by a closure, on that thread, when it first asks.
  public init(_ makeValue: @escaping @Sendable () -> Value) {
    plan = ThreadLocalPlan(isVisible: false, childValue: nil)
    (index, owner) = (plan.index, plan.owner)
    isPrivate = true
    self.makeValue = makeValue
  }

  /// A variable whose values are seen by other threads, or handed on to new threads, or both.
  ///
  /// ```swift
  /// let requestID = ThreadLocal(inheriting: { $0 }) { UUID() }
  /// let counters = ThreadLocal(isVisible: true) { Counter() }
  /// ```
  ///
  /// Inherited is what the starting thread has at the moment of the start, when a thread is started by
  /// ``ManagedThread/start()`` of either family, in a scope, or in the background. Threads that nobody of this
  /// package starts (those of `pthread_create` and of Dispatch) and the package's own (of pools and
  /// timers) inherit nothing; nor does a thread whose starter has no value yet.
  ///
  /// Changing a value costs an uncontended lock more if the variable is visible, and ``withValue(_:)``
  /// works on a copy that is stored at its end. Reading costs the same.
  ///
  /// - Parameters:
  ///   - isVisible: whether ``forEachThread(_:)`` may be used.
  ///   - childValue: makes the new thread's value from the starting thread's, on the starting
  ///     thread; nil lets the new thread make its own when it first asks. Without this closure nothing is
  ///     inherited.
  ///   - makeValue: makes a thread's value when it first asks, on that thread.
  public init(
    isVisible: Bool = false, inheriting childValue: (@Sendable (Value) -> Value?)? = nil,
    _ makeValue: @escaping @Sendable () -> Value
  ) where Value: Sendable {
    plan = ThreadLocalPlan(isVisible: isVisible, childValue: childValue)
    (index, owner) = (plan.index, plan.owner)
    isPrivate = !isVisible && childValue == nil
    self.makeValue = makeValue
  }

  deinit { ThreadLocalNumbers.giveBack(index) }

  /// The calling thread's value.
  ///
  /// - Precondition: Not inside ``withValue(_:)`` of the same variable on the same thread. If it is,
  ///   the program stops.
  @inlinable
  public var value: Value {
    get {
      if index < ctp_get_local_count(), let slots = unsafe ctp_get_local_slots(),
        unsafe slots[index].owner == owner, let value = unsafe slots[index].value
      {
        // SAFETY: a slot with our mark points to a value that `store` has put there.
        return unsafe value.assumingMemoryBound(to: Value.self).pointee
      }
      return unsafe makeMissing().pointee
    }
    set {
      if isPrivate, index < ctp_get_local_count(), let slots = unsafe ctp_get_local_slots(),
        unsafe slots[index].owner == owner, let value = unsafe slots[index].value
      {
        // The old value is released when the new one is in place: its deinit may look.
        let pointer = unsafe value.assumingMemoryBound(to: Value.self)
        let old = unsafe pointer.move()
        unsafe pointer.initialize(to: newValue)
        _ = consume old
        return
      }
      replaceSlowly(newValue)
    }
  }

  /// Runs `body` with the calling thread's value, which it may change in place.
  ///
  /// - Parameter body: must not use the same variable again. If it does, the program stops.
  /// - Returns: what `body` returned.
  /// - Throws: what `body` threw.
  public func withValue<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if !isPrivate { return try withCopy(body) }
    if !isAtHand { _ = unsafe makeMissing() }
    guard let slots = unsafe ctp_get_local_slots(), let value = unsafe slots[index].value else {
      fatalError("ThreadLocal.withValue: the value is not there")
    }
    // Without its mark the slot is not found by the fast path of nested uses. The table may move
    // meanwhile; the value does not.
    unsafe slots[index].owner = 0
    defer { if let slots = unsafe ctp_get_local_slots() { unsafe slots[index].owner = owner } }
    return try unsafe body(&value.assumingMemoryBound(to: Value.self).pointee)
  }

  /// What others read meanwhile is the value as it was.
  private func withCopy<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var copy = value
    LocalSlots.setOwner(0, at: index)
    defer {
      LocalSlots.setOwner(owner, at: index)
      replaceSlowly(copy)
    }
    return try body(&copy)
  }

  private var isAtHand: Bool {
    guard index < ctp_get_local_count(), let slots = unsafe ctp_get_local_slots() else {
      return false
    }
    return unsafe slots[index].owner == owner
  }

  /// Whether the calling thread has a value already.
  public var hasValue: Bool {
    (LocalSlots.box(index) as? ThreadLocalBox<Value>)?.owner == owner
  }

  /// Takes the calling thread's value out and releases it. The next use makes a new one.
  ///
  /// - Precondition: as for ``value``.
  public func remove() {
    guard hasValue else { return }
    checkNotInUse()
    _ = LocalSlots.take(index)
  }

  @usableFromInline
  func makeMissing() -> UnsafeMutablePointer<Value> {
    checkNotInUse()
    let value = makeValue()
    // The closure may itself have used the variable.
    checkNotInUse()
    return unsafe store(value)
  }

  @usableFromInline
  func replaceSlowly(_ value: Value) {
    checkNotInUse()
    if isAtHand, let box = LocalSlots.box(index) as? ThreadLocalBox<Value> {
      // Released when the new value is in place and the lock is free again: its deinit may look.
      let old = box.cell.replace(value)
      _ = consume old
    } else {
      _ = unsafe store(value)
    }
  }

  private func store(_ value: Value) -> UnsafeMutablePointer<Value> { unsafe plan.store(value) }

  private func checkNotInUse() {
    require(
      isAtHand || !hasValue, "ThreadLocal: the value is used inside withValue of the same variable")
  }
}

extension ThreadLocal where Value: Sendable {
  /// Calls `body` with each thread that has a value, and the value as it is at the moment of the call.
  ///
  /// Threads that make their first value or end meanwhile are seen or not; of a thread that has ended
  /// nothing is seen. A thread inside ``withValue(_:)`` is seen with the value from before. The values
  /// are copied first and handed out afterwards, in no particular order: `body` may do what it likes,
  /// with this variable too, and a value is kept alive by it beyond its thread.
  ///
  /// Costs a lock, and one for each thread; threads that read their values are not held up.
  ///
  /// - Parameter body: called on the calling thread.
  /// - Throws: what `body` throws; the other threads are then not called for.
  /// - Precondition: The variable was made with `isVisible`. If not, the program stops.
  public func forEachThread<Failure: Error>(
    _ body: (ThreadHandle, Value) throws(Failure) -> Void
  ) throws(Failure) {
    guard let directory = plan.directory else {
      fatalError("ThreadLocal.forEachThread: the variable was not made with isVisible")
    }
    for (thread, value) in directory.snapshot() { try body(thread, value) }
  }
}

extension LocalSlots {
  /// Takes out and releases the calling thread's values, the last stored first; values that are stored
  /// meanwhile stay.
  ///
  /// - Returns: whether there was any.
  static func clear() -> Bool {
    if count == 0 { return false }
    let boxes = (0..<count).compactMap { index in
      (box(index) as? any ThreadLocalStored).map { (index: index, sequence: $0.sequence) }
    }
    for (index, sequence) in boxes.sorted(by: { $0.sequence > $1.sequence }) {
      // One at a time: a deinit may have taken or replaced another.
      guard let stored = box(index) as? any ThreadLocalStored, stored.sequence == sequence else {
        continue
      }
      _ = take(index)
    }
    return !boxes.isEmpty
  }
}
