public import ThreadingPlatform

/// The spin lock of POSIX, for threads of one process or of several.
///
/// A thread that finds it held burns its processor until it is free. When the owner is not running
/// at that moment, that takes until the system lets it run again, and for ever when the spinning
/// thread has the higher real-time priority. Where the threads are not bound to processors of their
/// own, use ``FastMutex``, which spins for a moment and then sleeps.
///
/// - Note: Safe to use from any thread. Everything written before ``unlock()`` happens before the
///   next ``lock()`` returns.
public final class PosixSpinLock: Sendable {
  private let native: NativeSpinLock
  private let isShared: Bool

  /// A lock of this process.
  ///
  /// - Throws: What the system refuses: EAGAIN, ENOMEM.
  public init() throws(ThreadingError) {
    let made = unsafe NativeSpinLock(at: nil)
    do {
      try made.initialize(isShared: false)
    } catch {
      made.free()
      throw error
    }
    // Only now: an object that is complete is ended by its deinit, even when its init throws.
    native = made
    isShared = false
  }

  /// Makes a lock for several processes in memory that they share. It stays there when this object
  /// goes; the others use ``init(attachedTo:)``.
  ///
  /// - Parameter memory: At least ``memorySize`` bytes, aligned to ``memoryAlignment``, mapped for
  ///   as long as this object lives.
  /// - Throws: What the system refuses: EAGAIN, ENOMEM.
  @unsafe
  public init(sharedAt memory: UnsafeMutableRawPointer) throws(ThreadingError) {
    native = unsafe NativeSpinLock(at: memory)
    isShared = true
    try native.initialize(isShared: true)
  }

  /// Uses a lock that ``init(sharedAt:)`` has made in memory shared by processes.
  ///
  /// - Parameter memory: Where it is, mapped for as long as this object lives.
  @unsafe
  public init(attachedTo memory: UnsafeMutableRawPointer) {
    native = unsafe NativeSpinLock(at: memory)
    isShared = true
  }

  deinit {
    guard !isShared else { return }
    if native.tryLock() != 0 { fatalError("PosixSpinLock: destroyed while held") }
    _ = native.unlock()
    native.destroy()
    native.free()
  }

  /// Bytes of memory that a shared lock takes.
  public static var memorySize: Int { NativeSpinLock.size }
  /// What the address of a shared lock must be a multiple of.
  public static var memoryAlignment: Int { NativeSpinLock.alignment }

  /// Takes the lock, spinning until it is free.
  ///
  /// - Precondition: The calling thread does not hold it: it would spin for ever.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock() { _ = native.lock() }

  /// Takes the lock if it is free at this moment.
  ///
  /// - Returns: Whether it was taken.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func tryLock() -> Bool { native.tryLock() == 0 }

  /// Gives the lock back.
  ///
  /// - Precondition: The calling thread holds it. The C library does not check that.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func unlock() { _ = native.unlock() }

  /// Runs `body` with the lock held.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = native.lock()
    defer { _ = native.unlock() }
    return try body()
  }
}
