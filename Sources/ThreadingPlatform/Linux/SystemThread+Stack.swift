internal import CThreadingPlatform
internal import Glibc
internal import Synchronization

extension SystemThread {
  /// Where a thread's stack lies, and what of it is taken.
  package struct StackBounds: Sendable {
    /// Lowest address that may be used.
    package let lowest: UInt
    /// Bytes from there to the highest address.
    package let size: Int
    /// Bytes that are inaccessible below ``lowest``; they are not part of ``size``.
    package let guardSize: Int
    /// Bytes at the high end that hold the thread-local variables of the program and the C library's
    /// record of the thread.
    package let reserved: Int

    /// Whether this is the main thread's stack, which is mapped as it grows.
    package let isMappedOnDemand: Bool

    /// Where the frames of the thread begin; they grow downward from here.
    package var base: UInt { lowest + UInt(size - reserved) }
    /// Bytes for the frames of the thread.
    package var usableSize: Int { size - reserved }
  }

  /// The bounds of the calling thread's stack, as the system has them.
  package static func currentStack() throws(ThreadingError) -> StackBounds {
    // Not by the kernel's id: that of a forked child's first thread is the process's, whichever it was.
    let main = ctp_get_main_thread()
    return try current.stack(isMain: main == 0 ? currentID == processID : main == pthread_self())
  }

  /// The bounds of a thread's stack, as the system has them.
  ///
  /// - Parameter isMain: whether this is the main thread, whose stack is the kernel's own.
  /// - Returns: the bounds.
  /// - Throws: what `pthread_getattr_np` refuses, or the start of the thread that measures.
  /// - Precondition: the thread has not ended, and cannot end during the call.
  package func stack(isMain: Bool) throws(ThreadingError) -> StackBounds {
    var native = pthread_attr_t()
    let code = unsafe ctp_thread_get_attributes(handle, &native)
    guard code == 0 else { throw .refused("pthread_getattr_np", code) }
    defer { _ = unsafe pthread_attr_destroy(&native) }
    var address: UnsafeMutableRawPointer?
    var size = 0
    var guardSize = 0
    _ = unsafe pthread_attr_getstack(&native, &address, &size)
    _ = unsafe pthread_attr_getguardsize(&native, &guardSize)
    return StackBounds(
      lowest: UInt(bitPattern: address), size: size, guardSize: guardSize,
      reserved: isMain ? 0 : min(size, try Self.reservedStackSize()), isMappedOnDemand: isMain)
  }

  /// Whether a thread is detached for the system.
  ///
  /// - Precondition: the thread has not ended, and cannot end during the call.
  package func isDetached() throws(ThreadingError) -> Bool {
    var native = pthread_attr_t()
    let code = unsafe ctp_thread_get_attributes(handle, &native)
    guard code == 0 else { throw .refused("pthread_getattr_np", code) }
    defer { _ = unsafe pthread_attr_destroy(&native) }
    var state: CInt = 0
    _ = unsafe pthread_attr_getdetachstate(&native, &state)
    return state == CInt(PTHREAD_CREATE_DETACHED)
  }

  /// The main thread; nil if it was not seen when the package was loaded.
  package static var main: SystemThread? {
    let handle = ctp_get_main_thread()
    return handle == 0 ? nil : SystemThread(rawValue: UInt(handle))
  }

  /// Where the calling thread is in its stack, roughly: the address of a frame of its own.
  @inline(__always)
  package static var frameAddress: UInt { UInt(ctp_frame_address()) }

  /// Bytes that the C library takes out of the stack size of every thread, for the program's
  /// thread-local variables and its own record; the first frames of a thread are in it. Measured once,
  /// on a thread of its own.
  package static func reservedStackSize() throws(ThreadingError) -> Int {
    // relaxed: every thread that measures finds the same number.
    let known = reserved.load(ordering: .relaxed)
    if known != 0 { return known }
    let code = unsafe probe(measureReserved)
    guard code == 0 else { throw .refusedThread(code, stackSize: nil) }
    let measured = reserved.load(ordering: .relaxed)
    guard measured != 0 else { throw .refused("pthread_getattr_np", ENOMEM) }
    return measured
  }

  /// The size to ask the C library for, in whole pages, so that a thread has `usable` bytes for itself.
  package static func stackSize(forUsable usable: Int) throws(ThreadingError) -> Int {
    let page = pageSize
    let (size, overflows) = usable.addingReportingOverflow(try reservedStackSize() + page - 1)
    return overflows ? usable : size / page * page
  }

  /// The stack size of threads that say nothing, as the C library has it.
  package static var systemDefaultStackSize: Int {
    var native = pthread_attr_t()
    guard unsafe pthread_attr_init(&native) == 0 else { return 0 }
    defer { _ = unsafe pthread_attr_destroy(&native) }
    var size = 0
    _ = unsafe pthread_attr_getstacksize(&native, &size)
    return size
  }

  /// How far down the frames of a thread have ever come, at least since the memory was last given back
  /// to the system: the lowest address in the stack that does not hold zero.
  ///
  /// Pages that were never touched are not touched by this either.
  ///
  /// - Precondition: the stack is that of a thread that cannot end during the call.
  package static func lowestUse(of stack: StackBounds) -> UInt {
    let page = UInt(pageSize)
    let chunk = 1_024
    var flags = [UInt8](repeating: 0, count: chunk)
    func look(at address: UInt, pages: Int) -> Bool {
      unsafe mincore(UnsafeMutableRawPointer(bitPattern: address), pages * Int(page), &flags) == 0
    }
    var low = stack.lowest & ~(page - 1)
    if stack.isMappedOnDemand {
      // Its limit may be as good as none: from the high end down to the first page that is not there.
      var start = stack.base & ~(page - 1)
      while start > low && look(at: start - page, pages: 1) { start -= page }
      low = start
    }
    while low < stack.base {
      let pages = min(chunk, Int((stack.base - low + page - 1) / page))
      if look(at: low, pages: pages) {
        for index in 0..<pages where flags[index] & 1 == 1 {
          let start = low + UInt(index) * page
          let from = max(start, (stack.lowest + 7) & ~7)
          let end = min(start + page, stack.base & ~7)
          guard from < end else { continue }
          let used = UInt(ctp_lowest_nonzero_word(from, end))
          if used < end { return used }
        }
      }
      low += UInt(pages) * page
    }
    return stack.base
  }

  /// Gives back what the calling thread does not use of its stack at this moment, so that
  /// ``lowestUse(of:)`` tells of this thread alone.
  ///
  /// - Parameter isOwn: whether the memory is the C library's, and may be given back to the system. If
  ///   not, it is overwritten with zero.
  /// - Throws: what `pthread_getattr_np` refuses.
  package static func clearUnusedStack(isOwn: Bool) throws(ThreadingError) {
    let stack = try currentStack()
    let page = UInt(pageSize)
    let low = (stack.lowest + page - 1) & ~(page - 1)
    let high = (frameAddress - page) & ~(page - 1)
    if isOwn, high > low,
      unsafe madvise(UnsafeMutableRawPointer(bitPattern: low), Int(high - low), MADV_DONTNEED) == 0
    {
      ctp_clear_stack_from(UInt(high))
    } else {
      ctp_clear_stack_from(UInt(stack.lowest))
    }
  }
}

private let reserved = Atomic<Int>(0)

extension SystemThread {
  /// See ``SystemProcess/makeValues()``.
  static func makeValues() { _ = reserved.load(ordering: .relaxed) }
}

/// Runs on the probe. A named function for the reason given at `systemThreadEntry`.
private func measureReserved(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  var native = pthread_attr_t()
  guard unsafe ctp_thread_get_attributes(pthread_self(), &native) == 0 else { return nil }
  var address: UnsafeMutableRawPointer?
  var size = 0
  _ = unsafe pthread_attr_getstack(&native, &address, &size)
  _ = unsafe pthread_attr_destroy(&native)
  // Some room for the frames between the C library's first one and a body's.
  let used = UInt(bitPattern: address) + UInt(size) - SystemThread.frameAddress + 256
  reserved.store(Int(used), ordering: .relaxed)
  return nil
}
