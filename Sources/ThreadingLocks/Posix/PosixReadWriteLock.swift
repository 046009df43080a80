internal import Glibc
public import ThreadingPlatform

/// The reader-writer lock of POSIX, with the choice of the GNU C library who goes first, for one
/// process or shared between several.
///
/// ``ReadWriteLock`` starves nobody and can be upgraded.
///
/// - Note: Safe to use from any thread. What a writer wrote happens before the next holder's lock
///   call returns.
public final class PosixReadWriteLock: Sendable {
  /// Who goes first.
  public enum Preference: Sendable, Hashable {
    /// Readers come in while other readers are in, even when a writer waits, which may starve. A
    /// thread may read twice.
    case readers
    /// Readers wait when a writer waits. A thread that reads twice may wait for ever.
    case writers
  }

  private let native: NativeReadWriteLock
  private let isShared: Bool
  private let label: String?

  /// A lock of this process.
  ///
  /// - Parameters:
  ///   - preference: Who goes first.
  ///   - label: What messages about misuse call the lock.
  /// - Throws: What the system refuses: ENOMEM.
  public init(
    preferring preference: Preference = .readers, label: String? = nil
  ) throws(ThreadingError) {
    self.label = label
    let made = unsafe NativeReadWriteLock(at: nil)
    do {
      try made.initialize(prefersWriters: preference == .writers, isShared: false)
    } catch {
      made.free()
      throw error
    }
    // Only now: an object that is complete is ended by its deinit, even when its init throws.
    native = made
    isShared = false
  }

  /// Makes a lock for several processes in memory that they share. It stays there when this object
  /// goes; the others use ``init(attachedTo:label:)``.
  ///
  /// - Parameters:
  ///   - memory: At least ``memorySize`` bytes, aligned to ``memoryAlignment``, mapped for as long
  ///     as this object lives.
  ///   - preference: Who goes first.
  ///   - label: What messages of this process about misuse call the lock.
  /// - Throws: What the system refuses: ENOMEM.
  @unsafe
  public init(
    sharedAt memory: UnsafeMutableRawPointer, preferring preference: Preference = .readers,
    label: String? = nil
  ) throws(ThreadingError) {
    self.label = label
    native = unsafe NativeReadWriteLock(at: memory)
    isShared = true
    try native.initialize(prefersWriters: preference == .writers, isShared: true)
  }

  /// Uses a lock that ``init(sharedAt:preferring:label:)`` has made in memory shared by processes.
  ///
  /// - Parameters:
  ///   - memory: Where it is, mapped for as long as this object lives.
  ///   - label: What messages of this process about misuse call the lock.
  @unsafe
  public init(attachedTo memory: UnsafeMutableRawPointer, label: String? = nil) {
    self.label = label
    native = unsafe NativeReadWriteLock(at: memory)
    isShared = true
  }

  deinit {
    guard !isShared else { return }
    // The C library does not tell; whoever can take it for writing knows that nobody holds it.
    if native.tryWriteLock() != 0 { stop("destroyed while \(state), by \(Misuse.caller)") }
    _ = native.unlock()
    native.destroy()
    native.free()
  }

  /// Bytes of memory that a shared lock takes.
  public static var memorySize: Int { NativeReadWriteLock.size }
  /// What the address of a shared lock must be a multiple of.
  public static var memoryAlignment: Int { NativeReadWriteLock.alignment }

  /// Takes the lock for reading, sleeping until that is possible.
  ///
  /// - Throws: EDEADLK when the calling thread holds it for writing, EAGAIN when there are too many
  ///   readers.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  public func readLock() throws(ThreadingError) {
    _ = try answer(native.readLock(), "pthread_rwlock_rdlock")
  }

  /// Takes the lock for reading if that is possible at this moment.
  ///
  /// - Returns: Whether the lock is now held for reading.
  /// - Throws: EAGAIN when there are too many readers.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  public func tryReadLock() throws(ThreadingError) -> Bool {
    try answer(native.tryReadLock(), "pthread_rwlock_tryrdlock")
  }

  /// Takes the lock for reading, unless a moment comes first.
  ///
  /// - Returns: Whether the lock is now held for reading.
  /// - Throws: As ``readLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  public func readLock(until deadline: MonotonicInstant) throws(ThreadingError) -> Bool {
    try answer(native.readLock(until: deadline), "pthread_rwlock_clockrdlock")
  }

  /// Takes the lock for reading, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the lock is now held for reading.
  /// - Throws: As ``readLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withReadLock")
  public func readLock(for duration: Duration) throws(ThreadingError) -> Bool {
    try readLock(until: .now.advanced(by: duration))
  }

  /// Takes the lock for writing, sleeping until it is free.
  ///
  /// - Throws: EDEADLK when the calling thread holds it for writing.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  public func writeLock() throws(ThreadingError) {
    _ = try answer(native.writeLock(), "pthread_rwlock_wrlock")
  }

  /// Takes the lock for writing if it is free at this moment.
  ///
  /// - Returns: Whether the lock is now held for writing.
  /// - Throws: Nothing on the GNU C library; other systems may refuse.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  public func tryWriteLock() throws(ThreadingError) -> Bool {
    try answer(native.tryWriteLock(), "pthread_rwlock_trywrlock")
  }

  /// Takes the lock for writing, unless a moment comes first.
  ///
  /// - Returns: Whether the lock is now held for writing.
  /// - Throws: As ``writeLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  public func writeLock(until deadline: MonotonicInstant) throws(ThreadingError) -> Bool {
    try answer(native.writeLock(until: deadline), "pthread_rwlock_clockwrlock")
  }

  /// Takes the lock for writing, unless `duration` passes first.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock. Zero or less tries
  ///   once.
  /// - Returns: Whether the lock is now held for writing.
  /// - Throws: As ``writeLock()``.
  @available(*, noasync, message: "a lock must not be held across a suspension: use withWriteLock")
  public func writeLock(for duration: Duration) throws(ThreadingError) -> Bool {
    try writeLock(until: .now.advanced(by: duration))
  }

  /// Gives the lock back, however it is held.
  ///
  /// - Precondition: The calling thread holds it. If another thread holds it for writing, or none at
  ///   all, the program stops; that of several readers each gives back its own is not checked.
  /// - Throws: Nothing on the GNU C library; other systems may refuse.
  @available(*, noasync, message: "a lock must not be held across a suspension")
  public func unlock() throws(ThreadingError) {
    checkHolder()
    _ = try answer(native.unlock(), "pthread_rwlock_unlock")
  }

  /// Runs `body` with the lock held for reading.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What ``readLock()`` and `body` throw.
  public func withReadLock<Result>(_ body: () throws -> Result) throws -> Result {
    _ = try answer(native.readLock(), "pthread_rwlock_rdlock")
    defer { giveBack() }
    return try body()
  }

  /// Runs `body` with the lock held for writing.
  ///
  /// - Returns: What `body` returned.
  /// - Throws: What ``writeLock()`` and `body` throw.
  public func withWriteLock<Result>(_ body: () throws -> Result) throws -> Result {
    _ = try answer(native.writeLock(), "pthread_rwlock_wrlock")
    defer { giveBack() }
    return try body()
  }

  private func giveBack() {
    checkHolder()
    _ = native.unlock()
  }

  /// Stops the program where the C library would break the lock.
  private func checkHolder() {
    let writer = native.writer
    // While the calling thread reads, there are readers and there is no writer.
    guard writer != SystemThread.currentID && (writer != 0 || native.readers == 0) else { return }
    stop("\(state), but unlock was called by \(Misuse.caller)")
  }

  private var state: String {
    let writer = native.writer
    if writer != 0 { return "held for writing by \(Misuse.holder(writer))" }
    let readers = native.readers
    return readers == 0 ? "held by nobody" : "held for reading by \(readers) threads"
  }

  private func stop(_ what: String) -> Never {
    fatalError("\(Misuse.name("PosixReadWriteLock", label)): \(what)")
  }

  private func answer(_ code: CInt, _ call: String) throws(ThreadingError) -> Bool {
    switch code {
    case 0: return true
    case EBUSY, ETIMEDOUT: return false
    case EDEADLK:
      throw ThreadingError(
        call: call, code: code, message: "the calling thread holds the lock for writing already")
    default: throw .refused(call, code)
    }
  }
}
