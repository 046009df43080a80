internal import CThreadingPlatform
internal import Glibc

/// The calls on a `pthread_barrier_t`; see the manual page of the call.
@safe
package struct NativeBarrier: Sendable {
  // SAFETY of @safe: the memory is only handed to the calls below.
  private let memory: NativeMemory<pthread_barrier_t>

  package static var size: Int { MemoryLayout<pthread_barrier_t>.stride }
  package static var alignment: Int { MemoryLayout<pthread_barrier_t>.alignment }

  /// The memory of a barrier: the caller's, or its own. It holds none until
  /// ``initialize(count:isShared:)``.
  package init(at address: UnsafeMutableRawPointer?) {
    unsafe memory = address.map { unsafe NativeMemory(at: $0) } ?? NativeMemory()
  }

  package func initialize(count: UInt32, isShared: Bool) throws(ThreadingError) {
    var native = pthread_barrierattr_t()
    try NativeMutex.check("pthread_barrierattr_init", unsafe pthread_barrierattr_init(&native))
    defer { _ = unsafe pthread_barrierattr_destroy(&native) }
    if isShared {
      try NativeMutex.check(
        "pthread_barrierattr_setpshared",
        unsafe pthread_barrierattr_setpshared(&native, CInt(PTHREAD_PROCESS_SHARED)))
    }
    try NativeMutex.check(
      "pthread_barrier_init", unsafe pthread_barrier_init(memory.pointer, &native, count))
  }

  /// Ends the barrier; waits for threads that have passed and are leaving.
  package func destroy() { _ = unsafe pthread_barrier_destroy(memory.pointer) }

  /// Gives memory of its own back.
  package func free() { memory.free() }

  /// - Returns: Whether the caller is the one thread of this round that is told so.
  package func wait() -> Bool {
    let code = unsafe pthread_barrier_wait(memory.pointer)
    require(
      code == 0 || code == PTHREAD_BARRIER_SERIAL_THREAD,
      "NativeBarrier.wait: pthread_barrier_wait failed with errno \(code)")
    return code == PTHREAD_BARRIER_SERIAL_THREAD
  }
}
