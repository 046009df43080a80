/// A value that can only be reached with its lock held: the form of locking to reach for first.
///
/// ```swift
/// let names = Locked<[String]>([])
/// names.withLock { $0.append("first") }
/// ```
///
/// The value need not be `Sendable`: it is given away at initialisation, and what happens to it
/// under the lock can neither keep it nor hand it out.
///
/// The value lives in one block of memory, allocated by the initialiser; locking allocates nothing.
///
/// - Note: Safe to use from any thread. What one `withLock` writes happens before the next one runs.
@safe
public struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  // SAFETY of @safe and @unchecked: the pointer is valid from init to deinit, and what it points to
  // is only touched with `mutex` held, or with exclusive access (init and deinit).
  @usableFromInline let mutex = FastMutex()
  /// Guarded by `mutex`.
  @usableFromInline let value: UnsafeMutablePointer<Value>

  /// Puts a value under a lock of its own.
  @inlinable
  public init(_ initialValue: consuming sending Value) {
    unsafe value = .allocate(capacity: 1)
    unsafe value.initialize(to: initialValue)
  }

  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
  }

  /// Runs `body` with the lock held and access to the value.
  ///
  /// - Precondition: The calling thread is not inside another call on the same object. If it is,
  ///   the program stops.
  @inlinable
  public borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    mutex.lock()
    defer { mutex.unlock() }
    return try unsafe body(&value.pointee)
  }

  /// Runs `body` with the lock held and access to the value, if the lock is free at this moment.
  ///
  /// - Returns: What `body` returned, or nil if the lock was held.
  @inlinable
  public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result? {
    guard mutex.tryLock() else { return nil }
    defer { mutex.unlock() }
    return try unsafe body(&value.pointee)
  }
}
