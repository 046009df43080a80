internal import Glibc
internal import Synchronization
public import ThreadingPlatform

/// The barrier of POSIX, for threads of one process or of several.
///
/// ``CyclicBarrier`` has an action, limits, and can be broken.
///
/// - Note: Safe to use from any thread. What each thread did before it arrived happens before any
///   of them goes on.
public final class PosixBarrier: Sendable {
  private let native: NativeBarrier
  private let isShared: Bool
  private let label: String?
  /// Threads inside `wait`: to find misuse.
  private let waiting = Atomic<Int>(0)

  /// A barrier of this process.
  ///
  /// - Parameters:
  ///   - count: How many threads meet, from 1 to 2^31 - 1.
  ///   - label: What messages about misuse call the barrier.
  /// - Throws: EINVAL for a count out of range.
  public init(_ count: Int, label: String? = nil) throws(ThreadingError) {
    self.label = label
    let count = try Self.checked(count)
    let made = unsafe NativeBarrier(at: nil)
    do {
      try made.initialize(count: count, isShared: false)
    } catch {
      made.free()
      throw error
    }
    // Only now: an object that is complete is ended by its deinit, even when its init throws.
    native = made
    isShared = false
  }

  /// Makes a barrier for several processes in memory that they share. It stays there when this
  /// object goes; the others use ``init(attachedTo:)``.
  ///
  /// - Parameters:
  ///   - memory: At least ``memorySize`` bytes, aligned to ``memoryAlignment``, mapped for as long
  ///     as this object lives.
  ///   - count: How many threads meet, from 1 to 2^31 - 1.
  /// - Throws: EINVAL for a count out of range.
  @unsafe
  public init(sharedAt memory: UnsafeMutableRawPointer, _ count: Int) throws(ThreadingError) {
    label = nil
    let count = try Self.checked(count)
    native = unsafe NativeBarrier(at: memory)
    isShared = true
    try native.initialize(count: count, isShared: true)
  }

  /// Uses a barrier that ``init(sharedAt:_:)`` has made in memory shared by processes.
  ///
  /// - Parameter memory: Where it is, mapped for as long as this object lives.
  @unsafe
  public init(attachedTo memory: UnsafeMutableRawPointer) {
    label = nil
    native = unsafe NativeBarrier(at: memory)
    isShared = true
  }

  deinit {
    guard !isShared else { return }
    // relaxed: whoever destroys it has exclusive access to it. The C library would wait for them.
    let count = waiting.load(ordering: .relaxed)
    if count != 0 {
      Misuse.stopDestroying(Misuse.name("PosixBarrier", label), awaitedByCount: count)
    }
    native.destroy()
    native.free()
  }

  /// Bytes of memory that a shared barrier takes.
  public static var memorySize: Int { NativeBarrier.size }
  /// What the address of a shared barrier must be a multiple of.
  public static var memoryAlignment: Int { NativeBarrier.alignment }

  /// Sleeps until all have come.
  ///
  /// - Returns: true for one thread of each round, whichever it is.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public func wait() -> Bool {
    // relaxed, both: a figure for a message.
    waiting.wrappingAdd(1, ordering: .relaxed)
    defer { waiting.wrappingSubtract(1, ordering: .relaxed) }
    return native.wait()
  }

  private static func checked(_ count: Int) throws(ThreadingError) -> UInt32 {
    guard (1...Int(Int32.max)).contains(count) else {
      throw ThreadingError(
        call: "pthread_barrier_init", code: EINVAL,
        message: "the count \(count) is not between 1 and \(Int32.max)")
    }
    return UInt32(count)
  }
}
