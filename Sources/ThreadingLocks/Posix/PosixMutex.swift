internal import CThreadingPlatform
internal import Glibc
public import ThreadingPlatform

/// The mutex of POSIX with all that it can be: of four kinds, with priority inheritance or a
/// ceiling, robust against the death of its owner, shared between processes.
///
/// It is the C library's mutex and behaves as its manual pages say, each answer of the system being
/// a result or a ``ThreadingError``. What the pages leave undefined, and a thread that waits for
/// itself for ever, stops the program instead. Where none of its abilities is needed, ``FastMutex``
/// is smaller and faster.
///
/// - Note: Safe to use from any thread. Everything written before ``unlock()`` happens before the
///   next ``lock()`` returns.
public final class PosixMutex: Sendable {
  /// What the mutex does when its owner takes it again, or a stranger gives it back.
  public enum Kind: Sendable, Hashable {
    /// Both stop the program. Taken again with a limit, it waits until then; in shared memory, for ever.
    case normal
    /// Both are refused with an error.
    case errorChecking
    /// It is free once it has been given back as often as it was taken; a stranger is refused.
    case recursive
    /// As `normal`, and spins for a moment before it sleeps. Of the GNU C library.
    case adaptive
  }

  /// Whose priority the owner runs with.
  public enum PriorityProtocol: Sendable, Hashable {
    /// Its own.
    case none
    /// At least that of the most urgent thread that waits.
    case inherit
    /// At least the ceiling, a priority of `SCHED_FIFO` (1 to 99 on Linux). Needs the right to run
    /// with such priorities.
    case protect(ceiling: Int)
  }

  /// What the mutex is made with.
  public struct Attributes: Sendable, Hashable {
    /// What the mutex does on misuse.
    public var kind: Kind
    /// Whose priority the owner runs with.
    public var priorityProtocol: PriorityProtocol
    /// Whether the next thread gets the mutex, and is told, when the owner ends while holding it.
    /// If not, all others wait for ever.
    public var isRobust: Bool

    /// What a mutex is made with; by default a normal one.
    public init(
      kind: Kind = .normal, priorityProtocol: PriorityProtocol = .none, isRobust: Bool = false
    ) {
      self.kind = kind
      self.priorityProtocol = priorityProtocol
      self.isRobust = isRobust
    }
  }

  /// How the mutex was had.
  public enum Acquisition: Sendable, Hashable {
    /// From nobody, or from an owner that gave it back.
    case acquired
    /// From an owner that ended while holding it (robust mutexes only). What it guards may be half
    /// changed: put it right and call ``PosixMutex/makeConsistent()`` before giving the mutex back;
    /// otherwise it can never be taken again.
    case ownerDied
  }

  let native: NativeMutex
  private let isShared: Bool
  private let label: String?

  /// A mutex of this process.
  ///
  /// - Parameters:
  ///   - attributes: What it is made with.
  ///   - label: What messages about misuse call the mutex.
  /// - Throws: What the system refuses: EINVAL for a ceiling out of range.
  public init(
    _ attributes: Attributes = Attributes(), label: String? = nil
  ) throws(ThreadingError) {
    self.label = label
    let made = unsafe NativeMutex(at: nil)
    do {
      try made.initialize(attributes.native(isShared: false))
    } catch {
      made.free()
      throw error
    }
    // Only now: an object that is complete is ended by its deinit, even when its init throws.
    native = made
    isShared = false
  }

  /// Makes a mutex for several processes in memory that they share.
  ///
  /// Called by one of them; the others use ``init(attachedTo:label:)``. The mutex stays there when this
  /// object goes.
  ///
  /// - Parameters:
  ///   - memory: At least ``memorySize`` bytes, aligned to ``memoryAlignment``, mapped for as long
  ///     as this object lives.
  ///   - attributes: What it is made with.
  ///   - label: What messages of this process about misuse call the mutex.
  /// - Throws: What the system refuses: EINVAL for a ceiling out of range.
  @unsafe
  public init(
    sharedAt memory: UnsafeMutableRawPointer, _ attributes: Attributes = Attributes(),
    label: String? = nil
  ) throws(ThreadingError) {
    self.label = label
    native = unsafe NativeMutex(at: memory)
    isShared = true
    try native.initialize(attributes.native(isShared: true))
  }

  /// Uses a mutex that ``init(sharedAt:_:label:)`` has made in memory shared by processes.
  ///
  /// - Parameters:
  ///   - memory: Where it is, mapped for as long as this object lives.
  ///   - label: What messages of this process about misuse call the mutex.
  @unsafe
  public init(attachedTo memory: UnsafeMutableRawPointer, label: String? = nil) {
    self.label = label
    native = unsafe NativeMutex(at: memory)
    isShared = true
  }

  deinit {
    guard !isShared else { return }
    // The C library does not say it of a robust mutex; the owner may have ended, which is no misuse.
    let owner = native.owner
    if owner != 0 && SystemThread.isThere(owner) {
      stop("destroyed while held by \(Misuse.holder(owner)), by \(Misuse.caller)")
    }
    if native.destroy() == EBUSY {
      stop(
        "destroyed while held, or while threads wait with it on a condition, by \(Misuse.caller)")
    }
    native.free()
  }

  /// Bytes of memory that a shared mutex takes.
  public static var memorySize: Int { NativeMutex.size }
  /// What the address of a shared mutex must be a multiple of.
  public static var memoryAlignment: Int { NativeMutex.alignment }

  /// Takes the mutex, sleeping until it is free.
  ///
  /// - Precondition: The calling thread does not hold a normal or adaptive mutex that is not robust.
  ///   If it does, the program stops; with a mutex in shared memory, it waits for ever.
  /// - Returns: Whether the owner before gave it back or ended.
  /// - Throws: EDEADLK when the calling thread holds it (error-checking), EAGAIN when it holds it
  ///   too often (recursive), EINVAL or EPERM when its priority is above the ceiling or cannot be
  ///   raised to it, ENOTRECOVERABLE when the state was not made consistent after an owner had
  ///   ended.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  @discardableResult
  public func lock() throws(ThreadingError) -> Acquisition {
    try take()
  }

  /// Takes the mutex if it is free at this moment, or the calling thread's own (recursive).
  ///
  /// - Returns: How it was had, or nil if it is held.
  /// - Throws: As ``lock()``, but for EDEADLK.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func tryLock() throws(ThreadingError) -> Acquisition? {
    try answer(native.tryLock(), "pthread_mutex_trylock")
  }

  /// Takes the mutex, unless a moment comes first.
  ///
  /// - Returns: How it was had, or nil if the moment came first.
  /// - Throws: As ``lock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(until deadline: MonotonicInstant) throws(ThreadingError) -> Acquisition? {
    if deadline == .distantFuture { return try take() }
    return try answer(native.lock(until: deadline), "pthread_mutex_clocklock")
  }

  /// Takes the mutex, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock.
  /// - Returns: How it was had, or nil if the time was up first.
  /// - Throws: As ``lock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func lock(for duration: Duration) throws(ThreadingError) -> Acquisition? {
    try lock(until: .now.advanced(by: duration))
  }

  /// Gives the mutex back.
  ///
  /// - Precondition: The calling thread holds it. If not, the program stops for a normal or adaptive
  ///   mutex that is not robust; for others the call throws. What a thread held that has ended, or
  ///   the parent of this process as it forked, any thread may give back: of such a mutex POSIX says
  ///   so in the handlers of a fork.
  /// - Throws: EPERM when the calling thread does not hold it.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withLock")
  public func unlock() throws(ThreadingError) {
    try giveBack()
  }

  /// Says that what the mutex guards is in order again after ``Acquisition/ownerDied``.
  ///
  /// - Throws: EINVAL when the mutex is not robust or its owner has not ended.
  public func makeConsistent() throws(ThreadingError) {
    _ = try answer(native.makeConsistent(), "pthread_mutex_consistent")
  }

  /// The priority ceiling.
  ///
  /// - Returns: The ceiling, a priority of `SCHED_FIFO`.
  /// - Throws: EINVAL when the mutex has none.
  public func priorityCeiling() throws(ThreadingError) -> Int {
    let (code, ceiling) = native.priorityCeiling()
    _ = try answer(code, "pthread_mutex_getprioceiling")
    return Int(ceiling)
  }

  /// Changes the priority ceiling; takes the mutex for that and gives it back.
  ///
  /// - Returns: The ceiling before.
  /// - Throws: EINVAL when the mutex has none or the new one is out of range; and as ``lock()``.
  @discardableResult
  public func setPriorityCeiling(_ ceiling: Int) throws(ThreadingError) -> Int {
    let call: StaticString = "pthread_mutex_setprioceiling"
    let (code, former) = native.setPriorityCeiling(try Attributes.checked(ceiling, "\(call)"))
    _ = try answer(code, call)
    return Int(former)
  }

  /// Runs `body` with the mutex held.
  ///
  /// - Parameter body: What to run; it is told how the mutex was had.
  /// - Returns: What `body` returned.
  /// - Throws: What ``lock()`` and `body` throw; ``unlock()`` is called in the latter case.
  public func withLock<Result>(_ body: (Acquisition) throws -> Result) throws -> Result {
    let acquisition = try take()
    let result: Result
    do {
      result = try body(acquisition)
    } catch {
      _ = native.unlock()
      throw error
    }
    try giveBack()
    return result
  }

  @inline(__always)
  private func take() throws(ThreadingError) -> Acquisition {
    // Not for a shared one: a thread of another process, seen in its own namespace, may have the same id.
    if !isShared && native.owner == ctp_thread_id() && native.isUnchecked {
      stop("locked again by its owner, \(Misuse.caller)")
    }
    return try answer(native.lock(), "pthread_mutex_lock") ?? .acquired
  }

  @inline(__always)
  private func giveBack() throws(ThreadingError) {
    if native.owner != ctp_thread_id() { checkOwner("unlock") }
    _ = try answer(native.unlock(), "pthread_mutex_unlock")
  }

  /// Stops the program if the mutex is not the calling thread's and the C library does not look.
  func checkOwner(_ call: StaticString) {
    let owner = native.owner
    guard owner != SystemThread.currentID && native.isUnchecked else { return }
    // Held by a thread that is not of this process: perhaps the parent's, before the fork.
    guard owner == 0 || SystemThread.isThere(owner) else { return }
    stop("held by \(Misuse.holder(owner)), but \(call) was called by \(Misuse.caller)")
  }

  /// Stops the program if the calling thread has taken the mutex more than once: a wait gives it back
  /// once, and keeps it from those that are to end the wait.
  func checkDepth(_ call: StaticString) {
    guard native.owner == SystemThread.currentID && native.depth > 1 else { return }
    stop("held \(native.depth) times by the thread that called \(call), \(Misuse.caller)")
  }

  private func stop(_ what: String) -> Never {
    fatalError("\(name): \(what)")
  }

  private var name: String { Misuse.name("PosixMutex", label) }
  private var described: String { "\(name) is held by \(Misuse.holder(native.owner))" }

  @inline(__always)
  private func answer(_ code: CInt, _ call: StaticString) throws(ThreadingError) -> Acquisition? {
    code == 0 ? .acquired : try answerOther(code, "\(call)")
  }

  private func answerOther(_ code: CInt, _ call: String) throws(ThreadingError) -> Acquisition? {
    let message: String
    switch code {
    case EOWNERDEAD: return .ownerDied
    case EBUSY, ETIMEDOUT: return nil
    case EDEADLK: message = "the calling thread holds the mutex already: \(described)"
    case EPERM:
      message =
        "the calling thread does not hold the mutex, or may not use its ceiling: \(described)"
    case ENOTRECOVERABLE: message = "an owner ended, and makeConsistent() was not called after that"
    default: throw .refused(call, code)
    }
    throw ThreadingError(call: call, code: code, message: message)
  }
}

extension PosixMutex.Attributes {
  fileprivate func native(isShared: Bool) throws(ThreadingError) -> NativeMutex.Attributes {
    let kind: CInt =
      switch self.kind {
      case .normal: CInt(PTHREAD_MUTEX_NORMAL)
      case .recursive: CInt(PTHREAD_MUTEX_RECURSIVE)
      case .errorChecking: CInt(PTHREAD_MUTEX_ERRORCHECK)
      case .adaptive: CInt(PTHREAD_MUTEX_ADAPTIVE_NP)
      }
    let (priority, ceiling): (Int, CInt?) =
      switch priorityProtocol {
      case .none: (PTHREAD_PRIO_NONE, nil)
      case .inherit: (PTHREAD_PRIO_INHERIT, nil)
      case .protect(let ceiling):
        (PTHREAD_PRIO_PROTECT, try Self.checked(ceiling, "pthread_mutexattr_setprioceiling"))
      }
    return NativeMutex.Attributes(
      kind: kind, priorityProtocol: CInt(priority), priorityCeiling: ceiling, isRobust: isRobust,
      isShared: isShared)
  }

  /// A ceiling as the C library takes it.
  fileprivate static func checked(_ ceiling: Int, _ call: String) throws(ThreadingError) -> CInt {
    let low = sched_get_priority_min(SCHED_FIFO)
    let high = sched_get_priority_max(SCHED_FIFO)
    guard (Int(low)...Int(high)).contains(ceiling) else {
      throw ThreadingError(
        call: call, code: EINVAL,
        message: "the priority ceiling \(ceiling) is not between \(low) and \(high)")
    }
    return CInt(ceiling)
  }
}
