internal import CThreadingPlatform
internal import Glibc

/// A kernel thread made by this package: the only code that calls `pthread_create`, `pthread_join`
/// and `pthread_detach`.
///
/// This is the bare handle: the caller sees to it that exactly one of ``join()`` and ``detach()``
/// is called, once.
package struct SystemThread: @unchecked Sendable {
  // SAFETY of @unchecked: a pthread_t is a number or pointer that any thread may use until the
  // thread is joined or detached, which the callers of this type keep to.
  let handle: pthread_t

  private init(handle: pthread_t) {
    self.handle = handle
  }

  /// The system's handle as a number, for keeping it in an atomic word.
  package var rawValue: UInt { UInt(handle) }

  /// The thread of a handle that ``rawValue`` gave, under the same conditions as that one.
  package init(rawValue: UInt) {
    handle = pthread_t(rawValue)
  }

  /// The calling thread, whoever started it.
  package static var current: SystemThread { SystemThread(handle: pthread_self()) }

  /// What `pthread_create` is told.
  package struct Attributes: Sendable {
    /// Bytes of stack that the body can use, at least; nil takes the process's default. Already checked
    /// by the caller.
    package var stackSize: Int?

    /// Memory to be used as the stack, instead of memory that the C library finds.
    package var stackMemory: StackMemory?

    package var isDetached: Bool

    /// Bytes that are kept inaccessible beyond the far end of the stack; nil takes a page.
    package var guardSize: Int?

    /// Signals that the thread is started with blocked, beside those that its starter blocks.
    package var blockedSignals: Set<CInt> = []

    package init(stackSize: Int? = nil, isDetached: Bool = false) {
      self.stackSize = stackSize
      self.isDetached = isDetached
    }
  }

  /// Starts a thread that runs `body`.
  ///
  /// - Throws: what `pthread_create` refuses: EAGAIN when the system is out of threads or memory.
  ///   `body` has then been released without being called.
  package static func start(
    _ attributes: Attributes, body: @escaping @Sendable () -> Void
  ) throws(ThreadingError) -> SystemThread {
    var native = pthread_attr_t()
    var code = unsafe pthread_attr_init(&native)
    guard code == 0 else { throw .refused("pthread_attr_init", code) }
    defer { _ = unsafe pthread_attr_destroy(&native) }
    if attributes.isDetached {
      code = unsafe pthread_attr_setdetachstate(&native, CInt(PTHREAD_CREATE_DETACHED))
      guard code == 0 else { throw .refused("pthread_attr_setdetachstate", code) }
    }
    if let memory = attributes.stackMemory {
      code = unsafe pthread_attr_setstack(
        &native, UnsafeMutableRawPointer(bitPattern: memory.lowest)!, memory.size)
      guard code == 0 else { throw .refused("pthread_attr_setstack", code) }
    }
    if let asked = attributes.stackSize {
      let size = try stackSize(forUsable: asked)
      code = unsafe pthread_attr_setstacksize(&native, size)
      guard code == 0 else {
        throw ThreadingError(
          call: "pthread_attr_setstacksize", code: code,
          message: "a stack of \(asked) bytes is below the minimum of \(minimumStackSize) bytes")
      }
    }
    if let size = attributes.guardSize {
      code = unsafe pthread_attr_setguardsize(&native, size)
      guard code == 0 else { throw .refused("pthread_attr_setguardsize", code) }
    }
    let context = unsafe Unmanaged.passRetained(StartContext(body: body))
    var handle = pthread_t()
    // A new thread starts with the signal mask of its starter: there is no moment without it.
    code = withSignalsBlocked(attributes.blockedSignals) {
      unsafe pthread_create(&handle, &native, systemThreadEntry, context.toOpaque())
    }
    guard code == 0 else {
      unsafe context.release()
      throw .refusedThread(code, stackSize: attributes.stackSize ?? attributes.stackMemory?.size)
    }
    return SystemThread(handle: handle)
  }

  /// Waits for the thread's end: its thread-local destructors have run, its stack is free.
  ///
  /// - Precondition: the thread is joinable, was not joined or detached before, and is not the
  ///   calling one.
  package func join() {
    let code = pthread_join(handle, nil)
    require(code == 0, "SystemThread.join: pthread_join failed with errno \(code)")
  }

  /// Has the system free the thread by itself when it ends.
  ///
  /// - Precondition: the thread is joinable and was not joined or detached before.
  package func detach() {
    let code = pthread_detach(handle)
    require(code == 0, "SystemThread.detach: pthread_detach failed with errno \(code)")
  }
}

extension SystemThread {
  /// Memory for a stack.
  package struct StackMemory: Sendable {
    package let lowest: UInt
    package let size: Int

    package init(lowest: UInt, size: Int) {
      self.lowest = lowest
      self.size = size
    }
  }

  /// Starts a thread that only measures something of itself: not with the attributes of others, and
  /// with a stack that no ordinary thread would be given afterwards.
  static func probe(
    _ entry:
      @escaping @convention(c) (UnsafeMutableRawPointer?) ->
      UnsafeMutableRawPointer?
  ) -> CInt {
    var handle = pthread_t()
    let code = unsafe pthread_create(&handle, nil, entry, nil)
    return code == 0 ? pthread_join(handle, nil) : code
  }
}

/// What a new thread is handed: its body, released before the thread's local destructors run.
private final class StartContext: Sendable {
  let body: @Sendable () -> Void

  init(body: @escaping @Sendable () -> Void) {
    self.body = body
  }
}

/// The entry point of every thread. A named function: a closure literal given to `pthread_create`
/// may be inferred to belong to the main actor and stop the process on the new thread.
private func systemThreadEntry(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument = unsafe argument else { return nil }
  runAndRelease(unsafe Unmanaged<StartContext>.fromOpaque(argument).takeRetainedValue())
  return nil
}

/// Not inlined, so that the context and the body's captures are gone when it returns.
@inline(never)
private func runAndRelease(_ context: consuming StartContext) {
  context.body()
}

// MARK: - The calling thread and the system's limits

extension SystemThread {
  /// Kernel id of the calling thread (`gettid(2)`); cached, so one thread-local read.
  package static var currentID: UInt32 { ctp_thread_id() }

  /// Kernel id of the process, which is also that of its main thread.
  package static var processID: UInt32 { UInt32(bitPattern: getpid()) }

  /// The smallest stack that the system accepts, in bytes: a value of the running system, since it
  /// grows with the processor's register state.
  package static var minimumStackSize: Int {
    let answer = sysconf(CInt(_SC_THREAD_STACK_MIN))
    return answer > 0 ? answer : 16_384
  }

  /// Bytes in a page of memory.
  package static var pageSize: Int { sysconf(CInt(_SC_PAGESIZE)) }

  /// Bytes that the kernel keeps of a thread's name, without the terminating zero.
  package static let nameLimit = 15

  /// Gives the calling thread a name in the system's listings.
  ///
  /// - Parameter name: at most ``nameLimit`` bytes of UTF-8.
  /// - Throws: ERANGE for a longer name.
  package static func setCurrentName(_ name: String) throws(ThreadingError) {
    let code = unsafe ctp_thread_set_name(pthread_self(), name)
    guard code == 0 else {
      throw ThreadingError(
        call: "pthread_setname_np", code: code,
        message: "the name \"\(name)\" has \(name.utf8.count) bytes; at most \(nameLimit) are kept")
    }
  }

  /// Gives a thread a name in the system's listings.
  ///
  /// A failure is not reported: for a thread other than the caller the C library needs the `proc`
  /// file system, which may not be there.
  ///
  /// - Parameter name: at most ``nameLimit`` bytes of UTF-8.
  /// - Precondition: the thread has not ended, and cannot end during the call.
  package func setName(_ name: String) {
    _ = unsafe ctp_thread_set_name(handle, name)
  }

  /// The running program's file name, which is what an unnamed process is listed as.
  package static var programName: String { unsafe String(cString: ctp_program_name()) }

  /// ``programName``, as much of it as the system keeps of a thread's name.
  package static let listedProgramName = systemName(for: programName)

  /// Whether the system lists the calling thread under ``listedProgramName``. Costs a system call.
  package static var currentIsListedAsProgram: Bool {
    var name = [CChar](repeating: 0, count: nameLimit + 1)
    guard unsafe ctp_thread_get_name(pthread_self(), &name, name.count) == 0 else { return false }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self) == listedProgramName
  }

  /// The longest beginning of a name that the system keeps: whole characters of UTF-8 within
  /// ``nameLimit`` bytes.
  package static func systemName(for name: String) -> String {
    var kept = String.UnicodeScalarView()
    var room = nameLimit
    for scalar in name.unicodeScalars {
      room -= UTF8.width(scalar)
      if room < 0 { break }
      kept.append(scalar)
    }
    return String(kept)
  }

  /// The name under which the system lists a thread of this process, by kernel id; nil when there
  /// is no such thread now.
  ///
  /// - Throws: when there is no descriptor or memory for that (`EMFILE`, `ENFILE`, `ENOMEM`).
  package static func name(ofThread id: UInt32) throws(ThreadingError) -> String? {
    guard let text = try SystemFile.textIfThere(of: "/proc/self/task/\(id)/comm") else {
      return nil
    }
    return String(text.prefix { $0 != "\n" })
  }

  /// Whether this process has a thread of that kernel id now. Costs a system call, and no descriptor.
  package static func isThere(_ id: UInt32) -> Bool { SystemTask.processorTime(of: id) != nil }

  /// A thread of this process as messages name it: its kernel id, and its name in the listings.
  package static func describe(_ id: UInt32) -> String {
    do throws(ThreadingError) {
      return "thread \(id) \"\(try name(ofThread: id) ?? "ended")\""
    } catch {
      return "thread \(id)"
    }
  }

  /// Runs `body` with some signals blocked for the calling thread, beside those that are already.
  package static func withSignalsBlocked<Result>(
    _ signals: Set<CInt>, _ body: () -> Result
  ) -> Result {
    if signals.isEmpty { return body() }
    var added = sigset_t()
    var former = sigset_t()
    _ = unsafe sigemptyset(&added)
    for signal in signals { _ = unsafe sigaddset(&added, signal) }
    _ = unsafe pthread_sigmask(SIG_BLOCK, &added, &former)
    defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &former, nil) }
    return body()
  }

  /// Has the calling thread take a signal from now on.
  package static func unblock(_ signal: CInt) {
    var set = sigset_t()
    _ = unsafe sigemptyset(&set)
    _ = unsafe sigaddset(&set, signal)
    _ = unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  /// Whether a thread can block a signal: there is such a signal, and it is neither one that cannot be
  /// blocked nor one of the C library's own.
  package static func canBlock(_ signal: CInt) -> Bool {
    var set = sigset_t()
    return unsafe sigemptyset(&set) == 0 && sigaddset(&set, signal) == 0
      && signal != SIGKILL && signal != SIGSTOP
  }

  /// Whether the calling thread has a signal blocked.
  package static func isBlocked(_ signal: CInt) -> Bool {
    var set = sigset_t()
    _ = unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
    return unsafe sigismember(&set, signal) == 1
  }

  /// The calling thread's `errno`, for a call of another library that drops the code it is refused
  /// with. 0 when no call has failed since it was set to 0.
  package static var lastError: CInt {
    get { errno }
    set { errno = newValue }
  }

  /// Whether `pthread_create` may have been refused with a code. Other codes are left behind by what the
  /// C library tries first and can do without, such as a system call that a sandbox keeps from it.
  package static func isRefusalOfThread(_ code: CInt) -> Bool {
    [EAGAIN, ENOMEM, EINVAL, EPERM].contains(code)
  }

  /// Writes a line to the standard error, for what must be told and has nobody to be thrown to.
  package static func report(_ message: String) {
    var line = message + "\n"
    line.withUTF8 { _ = unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Lets other threads run.
  package static func yield() {
    _ = sched_yield()
  }

  /// Sleeps until a moment, whatever signals are handled meanwhile.
  package static func sleep(until deadline: MonotonicInstant) {
    var limit = deadline.timespec
    while unsafe ctp_sleep_until(&limit) == EINTR {}
  }
}

extension ThreadingError {
  /// An error of a call whose `errno` says all there is to say.
  package static func refused(_ call: String, _ code: CInt) -> ThreadingError {
    let text = unsafe String(cString: strerror(code))
    return ThreadingError(call: call, code: code, message: text)
  }
}

extension ThreadingError {
  /// The error of a thread that the system does not start.
  package static func refusedThread(_ code: CInt, stackSize: Int?) -> ThreadingError {
    let stack = stackSize.map { "a stack of \($0) bytes" } ?? "the default stack size"
    let reason =
      code == EINVAL
      ? "it leaves too little beside the guard and the thread-local variables"
      : "it is out of memory or at its limit of threads"
    return ThreadingError(
      call: "pthread_create", code: code,
      message: "the system refused another thread with \(stack): \(reason)")
  }
}
