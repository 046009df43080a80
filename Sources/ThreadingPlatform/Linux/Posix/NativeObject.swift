internal import Glibc

/// Memory of a POSIX object: at one address for the object's life, since the system knows it by
/// that.
///
/// The memory is this value's own, or the caller's, who shares it with other processes.
///
/// - Note: The pointer may be handed to the system from any thread.
@safe
package struct NativeMemory<Object>: @unchecked Sendable {
  // SAFETY of @safe and @unchecked: the owner of this value frees it once, when no thread uses it
  // any more; what it points to is touched by the C library alone.
  package let pointer: UnsafeMutablePointer<Object>
  private let isOwned: Bool

  /// Memory of its own.
  init() {
    unsafe pointer = .allocate(capacity: 1)
    isOwned = true
  }

  /// The caller's memory, which it keeps for as long as this value is used.
  init(at memory: UnsafeMutableRawPointer) {
    unsafe pointer = memory.bindMemory(to: Object.self, capacity: 1)
    isOwned = false
  }

  /// Gives memory of its own back.
  func free() {
    if isOwned { unsafe pointer.deallocate() }
  }
}

extension MonotonicInstant {
  /// Calls `timed` with the moment, or `endless` when it never comes.
  func wait(_ timed: (UnsafePointer<timespec>) -> CInt, endless: () -> CInt) -> CInt {
    if self == .distantFuture { return endless() }
    var limit = timespec
    return unsafe timed(&limit)
  }
}
