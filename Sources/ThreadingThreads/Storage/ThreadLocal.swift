public import CThreadingPlatform
internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// A variable of which each thread has its own value.
///
/// ```swift
/// let scratch = ThreadLocal { [UInt8](repeating: 0, count: 4096) }
/// scratch.withValue { $0[0] = 1 }
/// ```
///
/// A thread's value is made by the closure the first time the thread asks for it. Values need not be
/// `Sendable`: only their own thread reaches them. For a value that other threads look at too, use a
/// ``ThreadDictionary``.
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
  private let makeValue: @Sendable () -> Value

  /// A variable whose value for a thread is made by a closure, on that thread, when it first asks.
  public init(_ makeValue: @escaping @Sendable () -> Value) {
    (index, owner) = ThreadLocalNumbers.take()
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
      if index < ctp_get_local_count(), let slots = unsafe ctp_get_local_slots(),
        unsafe slots[index].owner == owner, let value = unsafe slots[index].value
      {
        // The old value is released when the new one is in place: its deinit may look.
        let pointer = unsafe value.assumingMemoryBound(to: Value.self)
        let old = unsafe pointer.move()
        unsafe pointer.initialize(to: newValue)
        _ = consume old
        return
      }
      replaceMissing(newValue)
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
  func replaceMissing(_ value: Value) {
    checkNotInUse()
    _ = unsafe store(value)
  }

  private func store(_ value: Value) -> UnsafeMutablePointer<Value> {
    // Makes sure that the thread has a handle, whose end clears the table.
    let sequence = ThreadHandle.current.nextLocalSequence()
    let box = ThreadLocalBox(value, owner: owner, sequence: sequence)
    // Released with the new value in place: its deinit may look.
    _ = unsafe LocalSlots.store(
      index, owner: owner, value: UnsafeMutableRawPointer(box.pointer), box: box)
    return unsafe box.pointer
  }

  private func checkNotInUse() {
    require(
      isAtHand || !hasValue, "ThreadLocal: the value is used inside withValue of the same variable")
  }
}

/// Owns one thread's value of one variable.
@safe
private final class ThreadLocalBox<Value>: ThreadLocalStored {
  let pointer: UnsafeMutablePointer<Value>
  let owner: UInt64
  let sequence: Int

  // SAFETY of @safe: `pointer` is valid from init to deinit.
  init(_ value: Value, owner: UInt64, sequence: Int) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: value)
    self.owner = owner
    self.sequence = sequence
  }

  deinit {
    unsafe pointer.deinitialize(count: 1)
    unsafe pointer.deallocate()
  }
}

/// A value in the table, whatever its type.
private protocol ThreadLocalStored: AnyObject {
  /// Counts the values that the thread has stored.
  var sequence: Int { get }
}

/// The numbers of variables: each has an index, used again when the variable goes, and a mark that is
/// never used again.
private enum ThreadLocalNumbers {
  private static let marks = Atomic<UInt64>(0)
  private static let free = Locked<(unused: [Int], next: Int)>((unused: [], next: 0))

  static func take() -> (index: Int, owner: UInt64) {
    let index = free.withLock { free in
      if let index = free.unused.popLast() { return index }
      free.next += 1
      return free.next - 1
    }
    return (index, marks.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  static func giveBack(_ index: Int) {
    free.withLock { $0.unused.append(index) }
  }
}

extension LocalSlots {
  /// Takes out and releases the calling thread's values, the last stored first; values that are stored
  /// meanwhile stay.
  ///
  /// - Returns: whether there was any.
  static func clear() -> Bool {
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
