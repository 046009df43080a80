internal import CThreadingPlatform
internal import Glibc

/// The calls on a `pthread_cond_t`. Each returns an errno; see the manual page of the call.
@safe
package struct NativeCondition: Sendable {
  // SAFETY of @safe: the memory is only handed to the calls below.
  private let memory: NativeMemory<ctp_condition>

  package static var size: Int { MemoryLayout<ctp_condition>.stride }
  package static var alignment: Int { MemoryLayout<ctp_condition>.alignment }

  /// The memory of a condition: the caller's, or its own. It holds no condition until
  /// ``initialize(isShared:)``.
  package init(at address: UnsafeMutableRawPointer?) {
    unsafe memory = address.map { unsafe NativeMemory(at: $0) } ?? NativeMemory()
  }

  package func initialize(isShared: Bool) throws(ThreadingError) {
    var native = pthread_condattr_t()
    try NativeMutex.check("pthread_condattr_init", unsafe pthread_condattr_init(&native))
    defer { _ = unsafe pthread_condattr_destroy(&native) }
    if isShared {
      try NativeMutex.check(
        "pthread_condattr_setpshared",
        unsafe pthread_condattr_setpshared(&native, CInt(PTHREAD_PROCESS_SHARED)))
    }
    try NativeMutex.check("pthread_cond_init", unsafe ctp_condition_init(memory.pointer, &native))
  }

  /// Ends the condition; waits for threads that have been woken and are leaving.
  package func destroy() { _ = unsafe ctp_condition_destroy(memory.pointer) }

  /// Gives memory of its own back.
  package func free() { memory.free() }

  /// How many threads wait.
  package var waiters: UInt32 { unsafe ctp_condition_waiters(memory.pointer) >> 3 }

  package func signal() -> CInt { unsafe ctp_condition_signal(memory.pointer) }
  package func broadcast() -> CInt { unsafe ctp_condition_broadcast(memory.pointer) }

  package func wait(_ mutex: NativeMutex, until deadline: MonotonicInstant) -> CInt {
    unsafe deadline.wait {
      unsafe ctp_condition_wait_until(
        memory.pointer, mutex.memory.pointer, CLOCK_MONOTONIC, $0)
    } endless: {
      unsafe ctp_condition_wait(memory.pointer, mutex.memory.pointer)
    }
  }

  /// The moment is on the realtime clock: it comes earlier or later when the date is set.
  package func wait(_ mutex: NativeMutex, untilRealtime nanoseconds: Int64) -> CInt {
    var limit = MonotonicInstant(nanoseconds: nanoseconds).timespec
    return unsafe ctp_condition_wait_until(
      memory.pointer, mutex.memory.pointer, CLOCK_REALTIME, &limit)
  }
}
