internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// What a variable and the threads' values of it know of each other. It may outlive the variable.
final class ThreadLocalPlan<Value>: Sendable {
  let index: Int
  let owner: UInt64
  /// Where other threads find the values; nil for a variable that is not visible.
  let directory: ThreadLocalDirectory<Value>?
  /// Makes a new thread's value from its starter's. Only given where values are `Sendable`.
  let childValue: (@Sendable (Value) -> Value?)?

  init(isVisible: Bool, childValue: (@Sendable (Value) -> Value?)?) {
    (index, owner) = ThreadLocalNumbers.take()
    directory = isVisible ? ThreadLocalDirectory(index: index) : nil
    self.childValue = childValue
  }

  /// Makes a value the calling thread's.
  ///
  /// - Returns: where it lies.
  func store(_ value: Value) -> UnsafeMutablePointer<Value> {
    // Makes sure that the thread has a handle, whose end clears the table.
    let thread = ThreadHandle.current
    let box = ThreadLocalBox(
      value, plan: self, sequence: thread.nextLocalSequence(), thread: thread)
    if childValue != nil { thread.noteInheritable(index) }
    // Released with the new value in place: its deinit may look.
    _ = unsafe LocalSlots.store(
      index, owner: owner, value: UnsafeMutableRawPointer(box.cell.pointer), box: box)
    return unsafe box.cell.pointer
  }
}

/// Where one thread's value of one variable lies.
///
/// The thread itself reads it without the lock, and changes it with the lock held if others may look,
/// who hold the lock too.
@safe
final class ThreadLocalCell<Value>: @unchecked Sendable {
  // SAFETY of @safe and @unchecked: `pointer` is valid until `end()`, which its owner calls as the last;
  // for the rest as above.
  let pointer: UnsafeMutablePointer<Value>
  private let lock = FastMutex()

  init(_ value: Value) {
    unsafe pointer = .allocate(capacity: 1)
    unsafe pointer.initialize(to: value)
  }

  /// For the thread itself.
  ///
  /// - Returns: the value that was there.
  func replace(_ value: Value) -> Value {
    lock.withLock {
      let old = unsafe pointer.move()
      unsafe pointer.initialize(to: value)
      return old
    }
  }

  func copy() -> Value { lock.withLock { unsafe pointer.pointee } }

  func end() {
    unsafe pointer.deinitialize(count: 1)
    unsafe pointer.deallocate()
  }
}

/// The threads' values of one visible variable.
final class ThreadLocalDirectory<Value>: Sendable {
  private struct Entry: Sendable {
    let thread: ThreadHandle
    let cell: ThreadLocalCell<Value>
  }

  private let lock: ForkSafeLock
  // SAFETY of nonisolated(unsafe): only touched with `lock` held.
  private nonisolated(unsafe) var entries: [ObjectIdentifier: Entry] = [:]

  /// - Parameter index: the number of the variable.
  init(index: Int) {
    lock = ThreadLocalDirectoryLocks.lock(for: index)
  }

  func add(_ cell: ThreadLocalCell<Value>, of thread: ThreadHandle) {
    lock.withLock { unsafe entries[ObjectIdentifier(cell)] = Entry(thread: thread, cell: cell) }
  }

  /// Afterwards nobody else looks at the cell.
  func remove(_ cell: ThreadLocalCell<Value>) {
    // Let go of with the lock free again.
    _ = lock.withLock { unsafe entries.removeValue(forKey: ObjectIdentifier(cell)) }
  }

  func snapshot() -> [(ThreadHandle, Value)] where Value: Sendable {
    lock.withLock {
      // A thread that a fork has left behind may hold the lock of its cell for ever.
      unsafe entries.values.filter { !$0.thread.isLostToFork }.map { ($0.thread, $0.cell.copy()) }
    }
  }
}

/// The locks of all directories. Few, so that a fork can take them all, and more than one, so that
/// threads which begin and end at once seldom meet.
enum ThreadLocalDirectoryLocks {
  static let all = (0..<16).map { _ in ForkSafeLock() }

  static func lock(for index: Int) -> ForkSafeLock { all[index % all.count] }
}

/// Owns one thread's value of one variable.
final class ThreadLocalBox<Value>: ThreadLocalStored {
  let plan: ThreadLocalPlan<Value>
  let cell: ThreadLocalCell<Value>
  let sequence: Int

  var owner: UInt64 { plan.owner }

  init(_ value: Value, plan: ThreadLocalPlan<Value>, sequence: Int, thread: ThreadHandle) {
    self.plan = plan
    self.sequence = sequence
    cell = ThreadLocalCell(value)
    plan.directory?.add(cell, of: thread)
  }

  deinit {
    plan.directory?.remove(cell)
    cell.end()
  }

  func inheritance() -> (@Sendable () -> Void)? {
    // SAFETY: only the thread itself changes the value, and it is the caller; `withValue` of an
    // inheritable variable works on a copy.
    guard let child = unsafe plan.childValue?(cell.pointer.pointee) else { return nil }
    // SAFETY: the values of a variable with `childValue` are Sendable, see ThreadLocal's initialiser.
    nonisolated(unsafe) let value = child
    return { [plan] in _ = unsafe plan.store(value) }
  }
}

/// A value in the table, whatever its type.
protocol ThreadLocalStored: AnyObject {
  /// Counts the values that the thread has stored.
  var sequence: Int { get }

  /// What gives a thread that the calling one starts its value, to be called there; nil if it gets
  /// none.
  func inheritance() -> (@Sendable () -> Void)?
}

/// The numbers of variables: each has an index, used again when the variable goes, and a mark that is
/// never used again.
enum ThreadLocalNumbers {
  private static let marks = Atomic<UInt64>(0)
  static let lock = ForkSafeLock()

  // SAFETY of nonisolated(unsafe): both are only touched with `lock` held.
  private nonisolated(unsafe) static var unused: [Int] = []
  private nonisolated(unsafe) static var next = 0

  static func take() -> (index: Int, owner: UInt64) {
    let index = lock.withLock {
      if let index = unsafe unused.popLast() { return index }
      unsafe next += 1
      return unsafe next - 1
    }
    return (index, marks.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  static func giveBack(_ index: Int) {
    lock.withLock { unsafe unused.append(index) }
  }

  /// See ``ForkGuard``.
  static func makeValues() {
    _ = marks.load(ordering: .relaxed)
    _ = unsafe (unused, next)
  }
}
