internal import CThreadingPlatform
internal import Synchronization
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
  private let label: String?
  /// The thread that holds a lock of this process, or 0: to find misuse. Only the owner can find its
  /// own id here, which it wrote.
  private let owner = Atomic<UInt32>(0)

  /// A lock of this process.
  ///
  /// - Parameter label: What messages about misuse call the lock.
  /// - Throws: What the system refuses: EAGAIN, ENOMEM.
  public init(label: String? = nil) throws(ThreadingError) {
    self.label = label
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
    label = nil
    native = unsafe NativeSpinLock(at: memory)
    isShared = true
    try native.initialize(isShared: true)
  }

  /// Uses a lock that ``init(sharedAt:)`` has made in memory shared by processes.
  ///
  /// - Parameter memory: Where it is, mapped for as long as this object lives.
  @unsafe
  public init(attachedTo memory: UnsafeMutableRawPointer) {
    label = nil
    native = unsafe NativeSpinLock(at: memory)
    isShared = true
  }

  deinit {
    guard !isShared else { return }
    if native.tryLock() != 0 {
      let holder = owner.load(ordering: .relaxed)
      if isHere(holder) {
        stop("destroyed while held by \(Misuse.holder(holder)), by \(Misuse.caller)")
      }
    }
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
  /// - Precondition: The calling thread does not hold it. If it does, the program stops; with a lock
  ///   in shared memory, it spins for ever.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock() { take() }

  /// Takes the lock if it is free at this moment.
  ///
  /// - Returns: Whether it was taken.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func tryLock() -> Bool {
    guard native.tryLock() == 0 else { return false }
    noteOwner()
    return true
  }

  /// Gives the lock back.
  ///
  /// - Precondition: The calling thread holds it. If it does not, the program stops; with a lock in
  ///   shared memory, that is not checked. What a thread held that has ended, or the parent of this
  ///   process as it forked, any thread may give back.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func unlock() { giveBack() }

  /// Runs `body` with the lock held.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What `body` throws, after the lock has been given back.
  @inlinable
  public func withLock<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  @inline(__always)
  private func take() {
    // relaxed, all that follow: the lock orders the writes of one owner before those of the next.
    if owner.load(ordering: .relaxed) == ctp_thread_id() {
      stop("locked again by its owner, \(Misuse.caller)")
    }
    _ = native.lock()
    noteOwner()
  }

  @inline(__always)
  private func noteOwner() {
    // Another object may give back a lock in shared memory.
    if !isShared { owner.store(ctp_thread_id(), ordering: .relaxed) }
  }

  @inline(__always)
  private func giveBack() {
    if !isShared {
      let holder = owner.load(ordering: .relaxed)
      if holder != ctp_thread_id() && isHere(holder) {
        stop("held by \(Misuse.holder(holder)), but unlocked by \(Misuse.caller)")
      }
      owner.store(0, ordering: .relaxed)
    }
    _ = native.unlock()
  }

  /// Whether a holder is a thread of this process, or nobody. If not, it may have been the parent's, before
  /// the fork.
  private func isHere(_ holder: UInt32) -> Bool {
    holder == 0 || SystemThread.isThere(holder)
  }

  private func stop(_ what: String) -> Never {
    fatalError("\(Misuse.name("PosixSpinLock", label)): \(what)")
  }
}
