internal import Glibc
public import ThreadingPlatform

/// The condition variable of POSIX, to use with a ``PosixMutex``, for one process or shared between
/// several.
///
/// Limits are on the monotonic clock; on request, on the realtime clock, which jumps when the date
/// is set. ``ConditionVariable`` goes with ``FastMutex`` and costs less.
///
/// - Note: Safe to use from any thread.
public final class PosixCondition: Sendable {
  /// How a wait ended.
  public enum Outcome: Sendable, Hashable {
    /// By a signal, or without one: look again at what is waited for.
    case woken
    /// The moment came first.
    case timedOut
    /// As `woken`, and the mutex was had from an owner that ended while holding it: see
    /// ``PosixMutex/Acquisition/ownerDied``.
    case ownerDied
  }

  private let native: NativeCondition
  private let isShared: Bool
  private let label: String?

  /// A condition of this process.
  ///
  /// - Parameter label: What messages about misuse call the condition.
  /// - Throws: What the system refuses: ENOMEM.
  public init(label: String? = nil) throws(ThreadingError) {
    self.label = label
    let made = unsafe NativeCondition(at: nil)
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

  /// Makes a condition for several processes in memory that they share. It stays there when this
  /// object goes; the others use ``init(attachedTo:label:)``.
  ///
  /// - Parameters:
  ///   - memory: At least ``memorySize`` bytes, aligned to ``memoryAlignment``, mapped for as long
  ///     as this object lives.
  ///   - label: What messages of this process about misuse call the condition.
  /// - Throws: What the system refuses: ENOMEM.
  @unsafe
  public init(
    sharedAt memory: UnsafeMutableRawPointer, label: String? = nil
  ) throws(ThreadingError) {
    self.label = label
    native = unsafe NativeCondition(at: memory)
    isShared = true
    try native.initialize(isShared: true)
  }

  /// Uses a condition that ``init(sharedAt:label:)`` has made in memory shared by processes.
  ///
  /// - Parameters:
  ///   - memory: Where it is, mapped for as long as this object lives.
  ///   - label: What messages of this process about misuse call the condition.
  @unsafe
  public init(attachedTo memory: UnsafeMutableRawPointer, label: String? = nil) {
    self.label = label
    native = unsafe NativeCondition(at: memory)
    isShared = true
  }

  deinit {
    guard !isShared else { return }
    // The C library would wait for them to leave.
    let waiters = native.waiters
    if waiters != 0 {
      Misuse.stopDestroying(
        Misuse.name("PosixCondition", label), awaitedByCount: Int(waiters))
    }
    native.destroy()
    native.free()
  }

  /// Bytes of memory that a shared condition takes.
  public static var memorySize: Int { NativeCondition.size }
  /// What the address of a shared condition must be a multiple of.
  public static var memoryAlignment: Int { NativeCondition.alignment }

  /// Gives the mutex back, sleeps until signalled or until a moment on the monotonic clock, and
  /// takes the mutex again.
  ///
  /// - Precondition: The calling thread holds the mutex, once. If it does not hold it, the program
  ///   stops or the call throws, as for ``PosixMutex/unlock()``; if it holds it more than once, the
  ///   program stops.
  /// - Returns: How the wait ended.
  /// - Throws: EPERM when the calling thread does not hold the mutex (error-checking or robust),
  ///   ENOTRECOVERABLE as for ``PosixMutex/lock()``.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(
    _ mutex: PosixMutex, until deadline: MonotonicInstant = .distantFuture
  ) throws(ThreadingError) -> Outcome {
    mutex.checkOwner("PosixCondition.wait")
    mutex.checkDepth("PosixCondition.wait")
    return try answer(native.wait(mutex.native, until: deadline), "pthread_cond_clockwait")
  }

  /// Gives the mutex back, sleeps until signalled or for as long as `duration`, and takes the mutex
  /// again.
  ///
  /// - Parameters:
  ///   - mutex: The mutex that guards what is waited for.
  ///   - duration: The longest time to sleep, on the monotonic clock.
  /// - Precondition: The calling thread holds the mutex, once. If it does not hold it, the program
  ///   stops or the call throws, as for ``PosixMutex/unlock()``; if it holds it more than once, the
  ///   program stops.
  /// - Returns: How the wait ended.
  /// - Throws: As ``wait(_:until:)``.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(
    _ mutex: PosixMutex, for duration: Duration
  ) throws(ThreadingError) -> Outcome {
    try wait(mutex, until: .now.advanced(by: duration))
  }

  /// Gives the mutex back, sleeps until signalled or until a date, and takes the mutex again.
  ///
  /// - Parameters:
  ///   - mutex: The mutex that guards what is waited for.
  ///   - sinceEpoch: The date, as the time since 1970-01-01 00:00 UTC. When the system's date is
  ///     set meanwhile, the wait ends earlier or later.
  /// - Precondition: The calling thread holds the mutex, once. If it does not hold it, the program
  ///   stops or the call throws, as for ``PosixMutex/unlock()``; if it holds it more than once, the
  ///   program stops.
  /// - Returns: How the wait ended.
  /// - Throws: As ``wait(_:until:)``.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait(
    _ mutex: PosixMutex, untilRealtime sinceEpoch: Duration
  ) throws(ThreadingError) -> Outcome {
    mutex.checkOwner("PosixCondition.wait")
    mutex.checkDepth("PosixCondition.wait")
    let nanoseconds = sinceEpoch.saturatedNanoseconds
    return try answer(
      native.wait(mutex.native, untilRealtime: nanoseconds), "pthread_cond_clockwait")
  }

  /// Wakes one thread that waits, if any.
  public func signal() { _ = native.signal() }

  /// Wakes all threads that wait.
  public func broadcast() { _ = native.broadcast() }

  private func answer(_ code: CInt, _ call: String) throws(ThreadingError) -> Outcome {
    switch code {
    case 0: return .woken
    case ETIMEDOUT: return .timedOut
    case EOWNERDEAD: return .ownerDied
    case EPERM:
      throw ThreadingError(
        call: call, code: code, message: "the calling thread does not hold the mutex")
    default: throw .refused(call, code)
    }
  }
}
