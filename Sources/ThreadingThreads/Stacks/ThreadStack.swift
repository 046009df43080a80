internal import Synchronization
public import ThreadingPlatform

/// Memory of the caller's that serves as the stack of a thread: of one at a time, and of another once
/// that one has been joined.
///
/// ```swift
/// let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
/// let stack = try ThreadStack(memory) { $0.deallocate() }
/// var attributes = ThreadAttributes()
/// attributes.stack = stack
/// let thread = try PosixThread.start(attributes) { work() }
/// try thread.join()  // the stack may serve again
/// ```
///
/// Only a join tells that the system has left the memory. So the thread must be joinable and be joined:
/// it cannot be detached, and if its object goes away unjoined, the stack stays in use for ever and its
/// memory is not given back.
///
/// There is no guard at its end, unless the caller makes one: running over it overwrites what lies
/// below.
///
/// - Note: Safe to use from any thread. Two stacks are equal when they are the same object.
@safe public final class ThreadStack: Sendable {
  /// Bytes of the memory. A thread has less for itself: the program's thread-local variables and the C
  /// library's record of the thread are in it too. ``StackUsage/size`` tells.
  public let size: Int

  /// The lowest address of the memory.
  package let lowest: UInt

  private let release: (@Sendable (UnsafeMutableRawBufferPointer) -> Void)?

  // State    | meaning                          | leaves by
  // 0 free   | no thread runs on it             | claim() -> in use
  // 1 in use | a thread is started or runs here | a join of the thread, a refused start -> free
  private let word = Atomic<UInt32>(0)

  /// Memory that is to serve as a stack.
  ///
  /// - Parameters:
  ///   - memory: must be aligned to 16 bytes at both ends, and stay valid and be used by nobody else
  ///     while ``isInUse`` is true.
  ///   - release: called with the memory when neither this object nor a thread uses it any more; nil
  ///     leaves it to the caller.
  /// - Throws: a ``ThreadingError`` (`EINVAL`) for memory that is empty, not aligned, too small (below
  ///   ``ThreadAttributes/minimumStackSize`` and what the C library takes) or reaches beyond the
  ///   address space; or (`EAGAIN`) what the system refuses while the C library's share is measured.
  ///   `release` is not called then.
  @unsafe
  public init(
    _ memory: UnsafeMutableRawBufferPointer,
    release: (@Sendable (UnsafeMutableRawBufferPointer) -> Void)? = nil
  ) throws(ThreadingError) {
    let lowest = UInt(bitPattern: memory.baseAddress)
    let size = memory.count
    guard lowest % 16 == 0 && size % 16 == 0 else {
      throw .badStack("at address 0x\(String(lowest, radix: 16)) is not aligned to 16 bytes", size)
    }
    let least = try SystemThread.reservedStackSize() + ThreadAttributes.minimumStackSize
    guard lowest != 0 && size >= least else {
      throw .badStack(
        "is below the minimum of \(least) bytes, thread-local variables included", size)
    }
    guard !lowest.addingReportingOverflow(UInt(size)).overflow else {
      throw .badStack("reaches beyond the address space", size)
    }
    self.lowest = lowest
    self.size = size
    unsafe self.release = release
  }

  deinit {
    unsafe release?(
      UnsafeMutableRawBufferPointer(start: UnsafeMutableRawPointer(bitPattern: lowest), count: size)
    )
  }

  /// Whether a thread runs on the memory, or has and was not joined yet.
  public var isInUse: Bool { word.load(ordering: .acquiring) != 0 }

  /// Takes the stack for a thread. It is kept alive until ``giveBack()``.
  func claim() throws(ThreadingError) {
    // acquiring: pairs with the release in `giveBack`: the thread before has left the memory.
    guard word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged else {
      throw .refused(
        by: "ThreadAttributes.stack", code: .inUse,
        "the stack is in use by a thread that was not joined yet")
    }
    _ = unsafe Unmanaged.passRetained(self)
  }

  /// Frees the stack for the next thread: the one that had it is gone.
  func giveBack() {
    // releasing: pairs with the acquire in `claim` and `isInUse`.
    word.store(0, ordering: .releasing)
    unsafe Unmanaged.passUnretained(self).release()
  }
}

extension ThreadStack: Hashable {
  /// Whether both are the same object.
  public static func == (left: ThreadStack, right: ThreadStack) -> Bool { left === right }

  /// Feeds the object's identity to a hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ThreadingError {
  fileprivate static func badStack(_ reason: String, _ size: Int) -> ThreadingError {
    .refused(by: "ThreadStack", code: .invalid, "a stack of \(size) bytes \(reason)")
  }
}
