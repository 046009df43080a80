internal import Glibc
internal import Synchronization
public import ThreadingPlatform

/// The semaphore of POSIX: of this process, in memory shared by processes, or known to the system
/// by a name.
///
/// ``CountingSemaphore`` takes several permits at once, serves in order and costs less.
///
/// - Note: Safe to use from any thread; ``post()`` also from a signal handler. What was written
///   before a post happens before the return of the wait that takes its permit.
public final class PosixSemaphore: Sendable {
  private let native: NativeSemaphore
  private let endsIt: Bool
  private let label: String?
  /// Threads that found no permit and wait for one: to find misuse.
  private let waiting = Atomic<Int>(0)

  /// The largest value of a semaphore.
  public static var maximumValue: Int { NativeSemaphore.maximumValue }

  /// A semaphore of this process.
  ///
  /// - Parameters:
  ///   - value: The permits to begin with, from 0 to ``maximumValue``.
  ///   - label: What messages about misuse call the semaphore.
  /// - Throws: EINVAL for a value out of range.
  public init(_ value: Int, label: String? = nil) throws(ThreadingError) {
    self.label = label
    let value = try Self.checked(value, "sem_init")
    let made = unsafe NativeSemaphore(at: nil)
    do {
      try made.initialize(value: value, isShared: false)
    } catch {
      made.free()
      throw error
    }
    // Only now: an object that is complete is ended by its deinit, even when its init throws.
    native = made
    endsIt = true
  }

  /// Makes a semaphore for several processes in memory that they share. It stays there when this
  /// object goes; the others use ``init(attachedTo:)``.
  ///
  /// - Parameters:
  ///   - memory: At least ``memorySize`` bytes, aligned to ``memoryAlignment``, mapped for as long
  ///     as this object lives.
  ///   - value: The permits to begin with, from 0 to ``maximumValue``.
  /// - Throws: EINVAL for a value out of range.
  @unsafe
  public init(sharedAt memory: UnsafeMutableRawPointer, _ value: Int) throws(ThreadingError) {
    label = nil
    let value = try Self.checked(value, "sem_init")
    native = unsafe NativeSemaphore(at: memory)
    endsIt = false
    try native.initialize(value: value, isShared: true)
  }

  /// Uses a semaphore that ``init(sharedAt:_:)`` has made in memory shared by processes.
  ///
  /// - Parameter memory: Where it is, mapped for as long as this object lives.
  @unsafe
  public init(attachedTo memory: UnsafeMutableRawPointer) {
    label = nil
    native = unsafe NativeSemaphore(at: memory)
    endsIt = false
  }

  /// Whether a named semaphore is opened, made, or either.
  public enum Opening: Sendable, Hashable {
    /// One that exists.
    case existing
    /// One that exists, or else a new one with a value, from 0 to ``PosixSemaphore/maximumValue``.
    case existingOrNew(value: Int)
    /// A new one with a value, from 0 to ``PosixSemaphore/maximumValue``.
    case new(value: Int)
  }

  /// Opens a semaphore that the system knows by a name, for all processes that use the name.
  ///
  /// It stays in the system until ``unlink(_:)``.
  ///
  /// - Parameters:
  ///   - name: A slash, then up to 250 bytes without one.
  ///   - opening: Whether it is opened or made.
  ///   - permissions: Who may open it, as for a file; applies to a new one, less the process's
  ///     umask.
  /// - Throws: ENOENT when there is none, EEXIST when there is one, EACCES, EINVAL for a bad name
  ///   or value, ENAMETOOLONG.
  public init(
    named name: String, _ opening: Opening, permissions: UInt32 = 0o600
  ) throws(ThreadingError) {
    let value: UInt32 =
      switch opening {
      case .existing: 0
      case .existingOrNew(let value), .new(let value): try Self.checked(value, "sem_open")
      }
    var isNew = false
    if case .new = opening { isNew = true }
    label = name
    native = try NativeSemaphore(
      name: name, creates: opening != .existing, exclusively: isNew, mode: permissions, value: value
    )
    endsIt = true
  }

  deinit {
    guard endsIt else { return }
    // relaxed: whoever destroys it has exclusive access to it.
    let count = waiting.load(ordering: .relaxed)
    if count != 0 {
      Misuse.stopDestroying(Misuse.name("PosixSemaphore", label), awaitedByCount: count)
    }
    native.end()
  }

  /// Takes a name out of the system; those that have the semaphore open keep it.
  ///
  /// - Returns: Whether there was such a name.
  /// - Throws: EACCES, ENAMETOOLONG.
  @discardableResult
  public static func unlink(_ name: String) throws(ThreadingError) -> Bool {
    let code = NativeSemaphore.unlink(name)
    if code == ENOENT { return false }
    if code != 0 { throw .refused("sem_unlink", code) }
    return true
  }

  /// Bytes of memory that a shared semaphore takes.
  public static var memorySize: Int { NativeSemaphore.size }
  /// What the address of a shared semaphore must be a multiple of.
  public static var memoryAlignment: Int { NativeSemaphore.alignment }

  /// The permits at this moment.
  public var value: Int { native.value() }

  /// Gives a permit and wakes a thread that waits for one, if any.
  ///
  /// - Throws: EOVERFLOW when there are ``maximumValue`` permits.
  public func post() throws(ThreadingError) {
    let code = native.post()
    if code != 0 { throw .refused("sem_post", code) }
  }

  /// Takes a permit, sleeping until there is one, whatever signals are handled meanwhile.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait() { _ = wait(until: .distantFuture) }

  /// Takes a permit if there is one at this moment.
  ///
  /// - Returns: Whether it was taken.
  public func tryWait() -> Bool {
    while true {
      switch native.tryWait() {
      case 0: return true
      case EAGAIN: return false
      case EINTR: continue
      case let code: fatalError("PosixSemaphore.tryWait: sem_trywait failed with errno \(code)")
      }
    }
  }

  /// Takes a permit, sleeping until there is one or a moment has come.
  ///
  /// - Returns: Whether it was taken.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(until deadline: MonotonicInstant) -> Bool {
    if tryWait() { return true }
    // relaxed, both: a figure for a message.
    waiting.wrappingAdd(1, ordering: .relaxed)
    defer { waiting.wrappingSubtract(1, ordering: .relaxed) }
    while true {
      switch native.wait(until: deadline) {
      case 0: return true
      case ETIMEDOUT: return false
      case EINTR: continue
      case let code: fatalError("PosixSemaphore.wait: sem_clockwait failed with errno \(code)")
      }
    }
  }

  /// Takes a permit, sleeping until there is one or `duration` has passed.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock.
  /// - Returns: Whether it was taken.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func wait(for duration: Duration) -> Bool { wait(until: .now.advanced(by: duration)) }

  private static func checked(_ value: Int, _ call: String) throws(ThreadingError) -> UInt32 {
    guard (0...maximumValue).contains(value) else {
      throw ThreadingError(
        call: call, code: EINVAL,
        message: "the value \(value) is not between 0 and \(maximumValue)")
    }
    return UInt32(value)
  }
}
