public import Synchronization
public import ThreadingPlatform

/// A value that can only be reached with its lock held: the form of locking to reach for first.
///
/// ```swift
/// let names = Locked<[String]>([])
/// names.withLock { $0.append("first") }
/// ```
///
/// The value need not be `Sendable`: it is given away at initialisation, and what is run under the
/// lock can neither keep it nor hand it out, nor a part of it. It may take the value, or a variable
/// of it, whole by leaving another in its place:
///
/// ```swift
/// let all = graph.withLock { graph in
///   let all = graph
///   graph = Graph()
///   return all
/// }
/// ```
///
/// A thread can also wait until something holds of the value: ``withLock(when:_:)``. Nobody needs
/// to signal for that.
///
/// The value and its lock live in one block of memory, allocated by the initialiser; locking
/// allocates nothing and costs what ``FastMutex`` costs, and one load more.
///
/// - Note: Safe to use from any thread. What one `withLock` writes happens before the next one
///   runs.
@safe
public struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  // The block: a `LockedHeader`, then the value at the next address that suits it.
  //
  // SAFETY of @safe and @unchecked: the pointer is valid from init to deinit; the header is only
  // borrowed, and the value is only touched with the header's mutex held, or with exclusive access
  // (init and deinit).
  @usableFromInline let header: UnsafeMutablePointer<LockedHeader>

  @inlinable var value: UnsafeMutablePointer<Value> {
    unsafe (UnsafeMutableRawPointer(header) + Self.valueOffset)
      .assumingMemoryBound(to: Value.self)
  }

  @inlinable static var valueOffset: Int {
    let alignment = MemoryLayout<Value>.alignment
    return (MemoryLayout<LockedHeader>.size + alignment - 1) / alignment * alignment
  }

  /// Puts a value under a lock of its own.
  ///
  /// - Parameters:
  ///   - initialValue: The value, given away.
  ///   - label: What messages about misuse call the lock.
  @inlinable
  public init(_ initialValue: consuming sending Value, label: String? = nil) {
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: Self.valueOffset + MemoryLayout<Value>.size,
      alignment: max(MemoryLayout<LockedHeader>.alignment, MemoryLayout<Value>.alignment))
    unsafe header = block.bindMemory(to: LockedHeader.self, capacity: 1)
    unsafe header.initialize(to: LockedHeader(label: label))
    unsafe (block + Self.valueOffset).bindMemory(to: Value.self, capacity: 1)
      .initialize(to: initialValue)
  }

  @inlinable
  deinit {
    // relaxed: whoever destroys the lock has exclusive access to it.
    if unsafe header.pointee.mutex.word.load(ordering: .relaxed) & FastMutex.owner != 0 {
      stopDestroying()
    }
    if unsafe header.pointee.conditions.load(ordering: .relaxed) != 0 { releaseConditions() }
    unsafe value.deinitialize(count: 1)
    unsafe header.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(header).deallocate()
  }

  /// Runs `body` with the lock held and access to the value.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread is not inside another call on the same object. If it is,
  ///   the program stops.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if unsafe !header.pointee.mutex.takeIfFree() {
      lockSlowly(until: .distantFuture)
    }
    defer { giveBack() }
    return try unsafe body(&value.pointee)
  }

  /// Runs `body` with the lock held and access to the value, if the lock is free at this moment.
  ///
  /// - Returns: What `body` returned, or nil if the lock was held.
  /// - Throws: What `body` throws, after the lock has been given back.
  @inlinable
  public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard unsafe header.pointee.mutex.tryLock() else { return nil }
    defer { giveBack() }
    return try unsafe body(&value.pointee)
  }

  /// Runs `body` with the lock held and access to the value, unless a moment comes first.
  ///
  /// - Returns: What `body` returned, or nil if the lock could not be had until then. It is tried
  ///   at least once, even when the moment has passed.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread is not inside another call on the same object. If it is,
  ///   the program stops.
  @available(*, noasync, message: "waiting blocks the calling thread")
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    until deadline: MonotonicInstant,
    _ body: (inout sending Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    if unsafe !header.pointee.mutex.takeIfFree() {
      guard lockSlowly(until: deadline) else { return nil }
    }
    defer { giveBack() }
    return try unsafe body(&value.pointee)
  }

  /// Runs `body` with the lock held and access to the value, unless `duration` passes first.
  ///
  /// - Parameters:
  ///   - duration: The longest time to wait for the lock, on the monotonic clock. Zero or less
  ///     tries once.
  ///   - body: What to do with the value.
  /// - Returns: What `body` returned, or nil if the lock could not be had in that time.
  /// - Throws: What `body` throws, after the lock has been given back.
  /// - Precondition: The calling thread is not inside another call on the same object. If it is,
  ///   the program stops.
  @available(*, noasync, message: "waiting blocks the calling thread")
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    for duration: Duration,
    _ body: (inout sending Value) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    try withLock(until: .now.advanced(by: duration), body)
  }
}

extension Locked where Value: ~Copyable {
  /// Gives the lock back, and lets a thread go on that waits for what now holds of the value.
  @inlinable
  borrowing func giveBack() {
    // relaxed: the mutex is held, and with it held it was written.
    if unsafe header.pointee.conditions.load(ordering: .relaxed) == 0 {
      unsafe header.pointee.mutex.unlock()
    } else {
      giveBackSlowly()
    }
  }

  @usableFromInline
  @discardableResult
  borrowing func lockSlowly(until deadline: MonotonicInstant) -> Bool {
    if unsafe header.pointee.mutex.isHeldByCurrentThread {
      fatalError(
        "\(name).withLock: called inside another call on the same object by one thread, "
          + Misuse.caller)
    }
    return unsafe header.pointee.mutex.lock(until: deadline)
  }

  @usableFromInline
  borrowing func stopDestroying() -> Never {
    // relaxed: for the message only.
    let last = unsafe header.pointee.mutex.word.load(ordering: .relaxed) & FastMutex.owner
    fatalError(
      "\(name): destroyed while its lock is held by \(Misuse.holder(last)), by \(Misuse.caller)")
  }

  var name: String { unsafe Misuse.name("Locked<\(Value.self)>", header.pointee.label) }
}

/// What the block of a ``Locked`` begins with.
@usableFromInline
struct LockedHeader: ~Copyable {
  @usableFromInline let mutex = FastMutex()
  /// The address of a retained `LockedConditions`, or 0 before a thread has waited for a condition.
  /// Guarded by `mutex`.
  @usableFromInline let conditions = Atomic<UInt>(0)
  @usableFromInline let label: String?

  @inlinable
  init(label: String?) {
    self.label = label
  }
}
