internal import CThreadingPlatform
internal import Glibc

/// The calls on a `sem_t`, unnamed or named. Each returns an errno; see the manual page of the
/// call.
@safe
package struct NativeSemaphore: @unchecked Sendable {
  // SAFETY of @safe and @unchecked: as in `NativeMemory`; a named semaphore's memory belongs to the
  // C library until it is closed.
  private let pointer: UnsafeMutablePointer<sem_t>
  private let memory: NativeMemory<sem_t>?

  package static var size: Int { MemoryLayout<sem_t>.stride }
  package static var alignment: Int { MemoryLayout<sem_t>.alignment }
  package static var maximumValue: Int { Int(CInt.max) }

  /// The memory of an unnamed semaphore: the caller's, or its own. It holds none until
  /// ``initialize(value:isShared:)``.
  package init(at address: UnsafeMutableRawPointer?) {
    let memory = unsafe address.map { unsafe NativeMemory<sem_t>(at: $0) } ?? NativeMemory()
    self.memory = memory
    unsafe pointer = memory.pointer
  }

  /// A named semaphore of the system.
  package init(
    name: String, creates: Bool, exclusively: Bool, mode: UInt32, value: UInt32
  ) throws(ThreadingError) {
    var code: CInt = 0
    let flags = (creates ? O_CREAT : 0) | (exclusively ? O_EXCL : 0)
    guard let opened = unsafe ctp_semaphore_open(name, flags, mode, value, &code) else {
      let text = unsafe String(cString: strerror(code))
      throw ThreadingError(call: "sem_open", code: code, message: "\"\(name)\": \(text)")
    }
    unsafe pointer = opened
    memory = nil
  }

  package func initialize(value: UInt32, isShared: Bool) throws(ThreadingError) {
    if unsafe sem_init(pointer, isShared ? 1 : 0, value) != 0 { throw .refused("sem_init", errno) }
  }

  /// Ends an unnamed semaphore; closes a named one, which stays in the system.
  package func end() {
    if let memory = memory {
      _ = unsafe sem_destroy(pointer)
      memory.free()
    } else {
      _ = unsafe sem_close(pointer)
    }
  }

  /// Gives memory of its own back, in which no semaphore has been made.
  package func free() { memory?.free() }

  /// Takes a name out of the system; those that have the semaphore open keep it.
  package static func unlink(_ name: String) -> CInt { unsafe sem_unlink(name) == 0 ? 0 : errno }

  package func post() -> CInt { unsafe sem_post(pointer) == 0 ? 0 : errno }
  package func tryWait() -> CInt { unsafe sem_trywait(pointer) == 0 ? 0 : errno }

  package func wait(until deadline: MonotonicInstant) -> CInt {
    unsafe deadline.wait {
      unsafe ctp_semaphore_wait_until(pointer, $0)
    } endless: {
      unsafe sem_wait(pointer) == 0 ? 0 : errno
    }
  }

  package func value() -> Int {
    var value: CInt = 0
    _ = unsafe sem_getvalue(pointer, &value)
    return Int(value)
  }
}
