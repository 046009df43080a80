package import CThreadingPlatform
internal import Glibc

/// The calls on a `pthread_mutex_t`. Each returns an errno; see the manual page of the call.
@safe
package struct NativeMutex: Sendable {
  // SAFETY of @safe: the memory is only handed to the calls below.
  package let memory: NativeMemory<pthread_mutex_t>

  /// What a mutex is made with.
  package struct Attributes: Sendable {
    /// `PTHREAD_MUTEX_NORMAL`, `RECURSIVE`, `ERRORCHECK` or `ADAPTIVE_NP`: 0, 1, 2, 3.
    package var kind: CInt
    /// `PTHREAD_PRIO_NONE`, `INHERIT` or `PROTECT`: 0, 1, 2.
    package var priorityProtocol: CInt
    package var priorityCeiling: CInt?
    package var isRobust: Bool
    package var isShared: Bool

    package init(
      kind: CInt, priorityProtocol: CInt, priorityCeiling: CInt?, isRobust: Bool, isShared: Bool
    ) {
      self.kind = kind
      self.priorityProtocol = priorityProtocol
      self.priorityCeiling = priorityCeiling
      self.isRobust = isRobust
      self.isShared = isShared
    }
  }

  package static var size: Int { unsafe MemoryLayout<pthread_mutex_t>.stride }
  package static var alignment: Int { unsafe MemoryLayout<pthread_mutex_t>.alignment }

  /// The memory of a mutex: the caller's, or its own. It holds no mutex until ``initialize(_:)``.
  package init(at address: UnsafeMutableRawPointer?) {
    unsafe memory = address.map { unsafe NativeMemory(at: $0) } ?? NativeMemory()
  }

  package func initialize(_ attributes: Attributes) throws(ThreadingError) {
    var native = pthread_mutexattr_t()
    try Self.check("pthread_mutexattr_init", unsafe pthread_mutexattr_init(&native))
    defer { _ = unsafe pthread_mutexattr_destroy(&native) }
    try Self.check(
      "pthread_mutexattr_settype", unsafe pthread_mutexattr_settype(&native, attributes.kind))
    try Self.check(
      "pthread_mutexattr_setprotocol",
      unsafe pthread_mutexattr_setprotocol(&native, attributes.priorityProtocol))
    if let ceiling = attributes.priorityCeiling {
      let code = unsafe pthread_mutexattr_setprioceiling(&native, ceiling)
      guard code == 0 else {
        let low = sched_get_priority_min(SCHED_FIFO)
        let high = sched_get_priority_max(SCHED_FIFO)
        throw ThreadingError(
          call: "pthread_mutexattr_setprioceiling", code: code,
          message: "the priority ceiling \(ceiling) is not between \(low) and \(high)")
      }
    }
    if attributes.isRobust {
      try Self.check(
        "pthread_mutexattr_setrobust",
        unsafe pthread_mutexattr_setrobust(&native, CInt(PTHREAD_MUTEX_ROBUST)))
    }
    if attributes.isShared {
      try Self.check(
        "pthread_mutexattr_setpshared",
        unsafe pthread_mutexattr_setpshared(&native, CInt(PTHREAD_PROCESS_SHARED)))
    }
    try Self.check("pthread_mutex_init", unsafe pthread_mutex_init(memory.pointer, &native))
  }

  /// Ends the mutex: EBUSY when it is held.
  package func destroy() -> CInt { unsafe pthread_mutex_destroy(memory.pointer) }

  /// Gives memory of its own back.
  package func free() { unsafe memory.free() }

  // What stands on the way of every lock is built into it.

  @inlinable
  package func lock() -> CInt { unsafe pthread_mutex_lock(memory.pointer) }
  package func tryLock() -> CInt { unsafe pthread_mutex_trylock(memory.pointer) }
  @inlinable
  package func unlock() -> CInt { unsafe pthread_mutex_unlock(memory.pointer) }
  package func makeConsistent() -> CInt { unsafe pthread_mutex_consistent(memory.pointer) }

  package func lock(until deadline: MonotonicInstant) -> CInt {
    unsafe deadline.wait {
      unsafe ctp_mutex_lock_until(memory.pointer, $0)
    } endless: {
      lock()
    }
  }

  /// The kernel id of the thread that holds the mutex, or 0. Only the thread itself can rely on it;
  /// one that ended while holding the mutex stays.
  @inlinable
  package var owner: UInt32 { unsafe ctp_mutex_owner(memory.pointer) }

  /// How often the calling thread, which holds it, has taken a recursive mutex; for others, 0 or 1.
  package var depth: UInt32 { unsafe ctp_mutex_depth(memory.pointer) }

  /// Whether the C library lets the owner wait for itself, and anybody give the mutex back.
  package var isUnchecked: Bool {
    let process: UInt32 = 128
    let protocols: UInt32 = 32 | 64
    // Set with a kind that was chosen: keeps the mutex from being taken without its owner noted.
    let noElision: UInt32 = 512
    let kind = unsafe ctp_mutex_kind(memory.pointer) & ~(process | protocols | noElision)
    return kind == UInt32(PTHREAD_MUTEX_NORMAL) || kind == UInt32(PTHREAD_MUTEX_ADAPTIVE_NP)
  }

  package func priorityCeiling() -> (code: CInt, ceiling: CInt) {
    var ceiling: CInt = 0
    let code = unsafe pthread_mutex_getprioceiling(memory.pointer, &ceiling)
    return (code, ceiling)
  }

  package func setPriorityCeiling(_ ceiling: CInt) -> (code: CInt, former: CInt) {
    var former: CInt = 0
    let code = unsafe pthread_mutex_setprioceiling(memory.pointer, ceiling, &former)
    return (code, former)
  }

  static func check(_ call: String, _ code: CInt) throws(ThreadingError) {
    if code != 0 { throw .refused(call, code) }
  }
}
