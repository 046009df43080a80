internal import Synchronization
public import ThreadingPlatform

/// A thread of the system, started with exactly the attributes it is given, joinable or detached.
///
/// It runs a closure, or the ``main()`` of a subclass:
///
/// ```swift
/// let thread = try PosixThread.start(ThreadAttributes(name: "sum")) { (1...100).reduce(0, +) }
/// print(try thread.join())
///
/// final class Counter: PosixThread<Int, Never>, @unchecked Sendable {
///   override func main() -> Int { 42 }
/// }
/// let counter = Counter()
/// try counter.start()
/// print(try counter.join())
/// ```
///
/// A running thread keeps its object alive. When the object goes away and nobody has joined the
/// thread, the thread is detached: nothing is left behind. The process does not wait for its threads:
/// it ends when its main thread returns, so a thread whose work must be complete is to be joined, or
/// started with ``ThreadAttributes/keepsProcessOpen``.
///
/// A thread ends when its body returns or throws, and in no other way: ending it from outside would
/// leave its locks held and its memory lost. It can be asked to finish by ``ThreadHandle/cancel(reason:)``.
/// One that breaks itself off, by `pthread_exit`, leaves what its calls held as it is, this object among it:
/// a thread that nobody joins is then not freed.
///
/// The end comes in this order: the body's value is kept and its captures are released; exit hooks
/// run; what the thread has stored is released; the thread-local destructors of the C library run;
/// ``ThreadState/finished`` is entered; a join returns.
///
/// - Note: All methods are safe to call from any thread.
open class PosixThread<Output: Sendable, Failure: Error>: ManagedThread, @unchecked Sendable {
  // SAFETY of @unchecked: `body` and `outcome` are written by the initialiser and by the new thread
  // alone, and `outcome` is read by others after they have seen the thread's end. Subclasses state
  // their own.

  /// What the thread is started with.
  public let attributes: ThreadAttributes

  /// The thread as anybody may see it: its state, name and dictionary. It may outlive this object.
  public let handle: ThreadHandle

  private let custody = ThreadCustody()
  private var body: (@Sendable () throws(Failure) -> Output)?
  private var outcome: Result<Output, Failure>?

  /// A thread that is still to be started and will run the ``main()`` of a subclass.
  ///
  /// - Parameter attributes: what to start it with; checked by ``start()``.
  public init(_ attributes: ThreadAttributes = ThreadAttributes()) {
    self.attributes = attributes
    handle = ThreadHandle(name: attributes.name, origin: .posix)
  }

  /// A thread that is still to be started and will run a closure.
  ///
  /// - Parameters:
  ///   - attributes: what to start it with; checked by ``start()``.
  ///   - body: what it runs. Released when it has returned.
  public convenience init(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    body: @escaping @Sendable () throws(Failure) -> Output
  ) {
    // A convenience initialiser, so that it has no place in the table of methods that subclasses
    // override: the compiler cannot translate such a closure there for a subclass that never fails.
    self.init(attributes)
    self.body = body
  }

  /// Starts a thread that runs a closure.
  ///
  /// - Parameters:
  ///   - attributes: what to start it with.
  ///   - body: what it runs. Released when it has returned.
  /// - Returns: The running thread.
  /// - Throws: a ``ThreadingError`` as `start()`. There is no thread then, and `body` has
  ///   been released without being called.
  public static func start(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    body: @escaping @Sendable () throws(Failure) -> Output
  ) throws(ThreadingError) -> PosixThread {
    let thread = PosixThread(attributes, body: body)
    try thread.start()
    return thread
  }

  deinit {
    // Nobody else has the object: no start is under way, and no join.
    if handle.state != .notStarted && !handle.isLostToFork { custody.detach(handle.system) }
  }

  /// What the thread runs. To be overridden by a subclass that is made without a closure; it is called
  /// on the new thread, once.
  ///
  /// - Precondition: It is called by the thread itself, and either overridden or given a closure. If
  ///   not, the program stops.
  open func main() throws(Failure) -> Output {
    require(handle.isCurrent, "PosixThread.main: not called by the thread itself; use start()")
    guard let body else {
      fatalError("PosixThread.main: \(handle) has neither a body nor a main() of its own")
    }
    return try body()
  }

  /// Starts the thread. Afterwards it is running, or has finished already.
  ///
  /// Every attribute is in force before the body runs. What was written before the call happens before
  /// the body.
  ///
  /// - Throws: a ``ThreadingError`` when an attribute is out of range (`EINVAL`, with the limit), the
  ///   system refuses another thread (`pthread_create`, `EAGAIN`: out of memory or at its limit
  ///   of threads), or it refuses the scheduling (`EPERM`, `EBUSY`). There is no thread then; the object is as before the call, and it may be tried
  ///   again.
  /// - Precondition: The thread was not started before. If it was, the program stops.
  public final func start() throws(ThreadingError) {
    handle.beginStart(of: "PosixThread")
    do throws(ThreadingError) {
      let setup = try ThreadSetup.ifNeeded(attributes, for: handle)
      try attributes.checkGuardAndSignals()
      try attributes.checkStack()
      // A thread that may refuse to run is detached when it has not: until then it can be joined.
      var native = SystemThread.Attributes(
        stackSize: try attributes.roundedStackSize(),
        isDetached: attributes.isDetached && setup == nil)
      native.guardSize = attributes.roundedGuardSize
      native.blockedSignals = attributes.blockedSignals
      if let stack = attributes.stack {
        native.stackMemory = .init(lowest: stack.lowest, size: stack.size)
        try stack.claim()
      }
      try launch(native, setup)
      handle.endStart(succeeded: true)
    } catch {
      custody.reset()
      handle.endStart(succeeded: false)
      throw error
    }
  }

  /// - Throws: what the system or the new thread refuses. What was taken for the thread is given back.
  private func launch(
    _ native: SystemThread.Attributes, _ setup: ThreadSetup?
  ) throws(ThreadingError) {
    if attributes.keepsProcessOpen {
      do throws(ThreadingError) {
        try handle.keepProcessOpen()
      } catch {
        attributes.stack?.giveBack()
        throw error
      }
    }
    if attributes.isDetached { custody.startDetached() }
    do throws(ThreadingError) {
      let system = try SystemThread.start(native) { [self] in
        if setup?.perform() != false { run() }
      }
      if let setup { try finish(setup, of: system) }
      handle.setSystem(system)
    } catch {
      if attributes.keepsProcessOpen { handle.endKeepingProcessOpen() }
      attributes.stack?.giveBack()
      throw error
    }
  }

  private func finish(_ setup: ThreadSetup, of system: SystemThread) throws(ThreadingError) {
    do throws(ThreadingError) {
      try setup.wait()
    } catch {
      system.join()
      throw error
    }
    if attributes.isDetached { system.detach() }
  }

  /// The whole life of the new thread.
  private func run() {
    handle.beginRunning()
    do throws(Failure) {
      outcome = .success(try main())
    } catch {
      outcome = .failure(error)
    }
    body = nil
    handle.clearStorage()
  }

  /// Waits for the thread's end and returns how its body ended, at most until a moment.
  ///
  /// The thread-local destructors of the C library have run, and the stack is free.
  ///
  /// - Returns: the body's value or error, or nil when the moment came first.
  /// - Throws: a ``ThreadingError`` when there is nothing to wait for: the thread was not started
  ///   (`ESRCH`), is detached (`EINVAL`), is the calling one or waits for it without a limit, directly
  ///   or through others (`EDEADLK`), or its body was broken off by `pthread_exit` (`ECANCELED`).
  @available(*, noasync, message: "result(until:) blocks the calling thread")
  public final func result(
    until deadline: MonotonicInstant
  ) throws(ThreadingError) -> Result<Output, Failure>? {
    guard try handle.waitForStart(until: deadline, joinBy: "PosixThread") else { return nil }
    if custody.isDetached { throw refusal(.isDetached) }
    if handle.isLostToFork {
      guard let outcome else { throw refusal(.brokenOff) }
      return outcome
    }
    // Without a limit, the one wait is that of the system's join. With a limit, the thread is awaited
    // first, and the system's join has next to nothing left to wait for.
    let isAwaited = deadline != .distantFuture
    if isAwaited, !handle.waitForEnd(until: deadline) { return nil }
    let isReaped =
      handle.state == .finished
      ? custody.reap(handle.system, on: attributes.stack)
      : try handle.withUnlimitedWait(joinBy: "PosixThread") {
        custody.reap(handle.system, on: attributes.stack)
      }
    // Detached only now, while this call waited: the answer is there if the end was awaited above.
    guard isReaped || isAwaited else { throw refusal(.isDetached) }
    guard let outcome else { throw refusal(.brokenOff) }
    return outcome
  }

  /// What the body returned, for asynchronous code; see ``ManagedThread/value``.
  ///
  /// This is not a join: the system frees the thread at a later one, or when this object goes away, and a
  /// ``ThreadStack`` stays in use until a join.
  ///
  /// - Throws: as ``ManagedThread/value``.
  public final var value: Output {
    get async throws {
      if isDetached && handle.state != .notStarted { throw refusal(.isDetached) }
      try await handle.waitForEnd(by: "PosixThread.value")
      guard let outcome else { throw refusal(.brokenOff) }
      return try outcome.get()
    }
  }

  /// Whether the thread cannot be joined: it was started detached, or detached later.
  public final var isDetached: Bool {
    handle.state == .notStarted ? attributes.isDetached : custody.isDetached
  }

  /// Whether somebody waits for the thread's end at this moment.
  package final var isBeingJoined: Bool { custody.isBeingReaped }

  private func refusal(_ reason: ThreadHandle.JoinRefusal) -> ThreadingError {
    handle.refusal(of: reason, by: "PosixThread")
  }

  /// Detaches the thread: the system frees it by itself when it ends, and it cannot be joined.
  ///
  /// Detaching twice, or after a join, changes nothing; nor does it while a join without a limit is
  /// under way, which will free the thread. A join with a limit that is under way keeps its answer.
  ///
  /// - Throws: a ``ThreadingError``: `ESRCH` when the thread was not started, or is one of the parent
  ///   process's; `EINVAL` when it runs on a ``ThreadStack``. To start it detached, set
  ///   ``ThreadAttributes/isDetached``.
  public final func detach() throws(ThreadingError) {
    if handle.isLostToFork { throw handle.lostToFork("PosixThread.detach") }
    if attributes.stack != nil {
      throw .refused(
        by: "PosixThread.detach", code: .invalid,
        "\(handle) runs on a stack of the caller's, and only a join tells when that is left")
    }
    guard handle.phase.wait(until: .distantFuture, while: { $0 == .starting }) != .notStarted
    else {
      throw .refused(
        by: "PosixThread.detach", code: .noThread,
        "\(handle) cannot be detached: it was not started")
    }
    custody.detach(handle.system)
  }
}

extension PosixThread where Output == Void, Failure == Never {
  /// Starts a detached thread: fire and forget.
  ///
  /// - Parameters:
  ///   - attributes: what to start it with; it is detached whatever they say.
  ///   - body: what it runs.
  /// - Returns: A handle to watch the thread by, which need not be kept.
  /// - Throws: a ``ThreadingError`` as ``start()``.
  @discardableResult
  public static func detach(
    _ attributes: ThreadAttributes = ThreadAttributes(), body: @escaping @Sendable () -> Void
  ) throws(ThreadingError) -> ThreadHandle {
    var detached = attributes
    detached.isDetached = true
    let thread = PosixThread(detached, body: body)
    try thread.start()
    return thread.handle
  }
}
