public import Foundation
internal import Synchronization
public import Threading
public import ThreadingThreads

/// A thread of Foundation's `Thread` class, started with the toolkit's attributes and joined like a
/// ``PosixThread``.
///
/// Inside, `Foundation.Thread.current` is this thread's ``foundationThread``, with its
/// `threadDictionary`. What Foundation leaves out on Linux is here: a start that the system refuses is
/// an error, a name given before the start sticks, and the thread can be joined, with its value.
///
/// ```swift
/// let thread = try FoundationThread.start(ThreadAttributes(name: "parser")) { parse(data) }
/// let document = try thread.join()
/// ```
///
/// The closure may be replaced by the ``main()`` of a subclass.
///
/// Foundation's threads are detached for the system, so a join cannot wait for the kernel to take the
/// thread down. It waits for all that code can see of the end: the body, the exit hooks, the release of
/// what the thread stored here and in its `threadDictionary`, and the thread-local destructors of
/// other libraries, unless one of them stores something anew in two rounds. The memory of the stack
/// may be returned to the system a moment later.
///
/// `Foundation.Thread.exit()` breaks the body off without running its `defer` blocks or releasing what
/// it holds; a join then throws. Cancel through this object or its handle: Foundation's own
/// `isCancelled` is neither set nor looked at, because it is not safe across threads.
///
/// - Note: All methods are safe to call from any thread.
open class FoundationThread<Output: Sendable, Failure: Error>: ManagedThread, @unchecked Sendable {
  // SAFETY of @unchecked: `body` and `outcome` are written by the initialiser and by the new thread
  // alone, and `outcome` is read by others after they have seen the thread's end. Subclasses state
  // their own.

  /// What the thread is started with.
  public let attributes: ThreadAttributes

  /// The thread as anybody may see it: its state, name and dictionary. It may outlive this object.
  public let handle: ThreadHandle

  private let detached: Atomic<Bool>
  private let attempt = Locked<StartAttempt?>(nil)
  private var body: (@Sendable () throws(Failure) -> Output)?
  private var outcome: Result<Output, Failure>?

  /// A thread that is still to be started and will run the ``main()`` of a subclass.
  ///
  /// - Parameter attributes: what to start it with; checked by ``start()``.
  public init(_ attributes: ThreadAttributes = ThreadAttributes()) {
    self.attributes = attributes
    handle = ThreadHandle(name: attributes.name, origin: .foundation)
    detached = Atomic(attributes.isDetached)
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
    // A convenience initialiser for the reason given in PosixThread.
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
  ) throws(ThreadingError) -> FoundationThread {
    let thread = FoundationThread(attributes, body: body)
    try thread.start()
    return thread
  }

  /// What the thread runs. To be overridden by a subclass that is made without a closure; it is called
  /// on the new thread, once.
  ///
  /// - Precondition: It is called by the thread itself, and either overridden or given a closure. If
  ///   not, the program stops.
  open func main() throws(Failure) -> Output {
    require(
      handle.isCurrent, "FoundationThread.main: not called by the thread itself; use start()")
    guard let body else {
      fatalError("FoundationThread.main: \(handle) has neither a body nor a main() of its own")
    }
    return try body()
  }

  /// Foundation's object for the thread; nil before the start. It is what `Foundation.Thread.current`
  /// answers inside.
  public final var foundationThread: Foundation.Thread? {
    attempt.withLock { $0?.thread }
  }

  /// Starts the thread. Afterwards it is running, or has finished already.
  ///
  /// Every attribute is in force before the body runs. What was written before the call happens before
  /// the body.
  ///
  /// - Throws: a ``ThreadingError`` when an attribute is out of range (`EINVAL`, with the limit), the
  ///   system refuses another thread (`pthread_create`, `EAGAIN` or `ENOMEM`: out of memory or at
  ///   its limit of threads), or it refuses the scheduling (`EPERM`, `EBUSY`). There is no thread
  ///   then; the object is as before the call, and it may be tried again. Foundation does not give back what it had set aside for the refused thread, which
  ///   is one `Thread` object. A thread that the system has made and that was refused its scheduling or
  ///   processors may take a moment more to go.
  /// - Precondition: The thread was not started before. If it was, the program stops.
  public final func start() throws(ThreadingError) {
    handle.beginStart(of: "FoundationThread")
    do throws(ThreadingError) {
      try attributes.checkGuardAndSignals()
      if attributes.guardSize != nil {
        throw .refused(
          by: "ThreadAttributes.guardSize", code: .invalid,
          "Foundation does not let the size of the guard be chosen")
      }
      if attributes.stack != nil {
        throw .refused(
          by: "ThreadAttributes.stack", code: .invalid,
          "Foundation does not let the memory of the stack be chosen")
      }
      let setup = try ThreadSetup.ifNeeded(attributes, for: handle)
      let next = StartAttempt { [self] in
        if setup?.perform() != false { run() }
      }
      if let size = try attributes.roundedStackSize() { try next.setStackSize(size) }
      attempt.withLock { $0 = next }
      if attributes.keepsProcessOpen { try handle.keepProcessOpen() }
      do throws(ThreadingError) {
        try next.start(blocking: attributes.blockedSignals)
        try setup?.wait()
      } catch {
        if attributes.keepsProcessOpen { handle.endKeepingProcessOpen() }
        throw error
      }
      handle.endStart(succeeded: true)
    } catch {
      attempt.withLock { $0 = nil }
      handle.endStart(succeeded: false)
      throw error
    }
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
    // Foundation keeps these for as long as its object lives, which others may hold.
    for _ in 1...4 where Foundation.Thread.current.threadDictionary.count > 0 {
      Foundation.Thread.current.threadDictionary.removeAllObjects()
    }
  }

  /// Waits for the thread's end and returns how its body ended, at most until a moment.
  ///
  /// - Returns: the body's value or error, or nil when the moment came first.
  /// - Throws: a ``ThreadingError`` when there is nothing to wait for: the thread was not started
  ///   (`ESRCH`), is detached (`EINVAL`), is the calling one or waits for it without a limit, directly
  ///   or through others (`EDEADLK`), or its body was broken off by `Foundation.Thread.exit()`
  ///   (`ECANCELED`).
  @available(*, noasync, message: "result(until:) blocks the calling thread")
  public final func result(
    until deadline: MonotonicInstant
  ) throws(ThreadingError) -> Result<Output, Failure>? {
    guard try handle.waitForStart(until: deadline, joinBy: "FoundationThread") else { return nil }
    // relaxed: no data goes with the flag.
    if detached.load(ordering: .relaxed) {
      throw handle.refusal(of: .isDetached, by: "FoundationThread")
    }
    if deadline == .distantFuture && handle.state != .finished {
      _ = try handle.withUnlimitedWait(joinBy: "FoundationThread") {
        handle.waitForEnd(until: deadline)
      }
    }
    guard handle.waitForEnd(until: deadline) else { return nil }
    guard let outcome else { throw handle.refusal(of: .brokenOff, by: "FoundationThread") }
    return outcome
  }

  /// What the body returned, for asynchronous code; see ``ManagedThread/value``.
  ///
  /// - Throws: as ``ManagedThread/value``.
  public final var value: Output {
    get async throws {
      if isDetached && handle.state != .notStarted {
        throw handle.refusal(of: .isDetached, by: "FoundationThread")
      }
      try await handle.waitForEnd(by: "FoundationThread.value")
      guard let outcome else { throw handle.refusal(of: .brokenOff, by: "FoundationThread") }
      return try outcome.get()
    }
  }

  /// Whether the thread cannot be joined: it was started detached, or detached later. For the system all
  /// threads of Foundation are detached.
  public final var isDetached: Bool { detached.load(ordering: .relaxed) }

  /// Detaches the thread: it cannot be joined from now on. A join that is under way keeps its answer.
  ///
  /// Detaching twice, or after a join, changes nothing but that later joins are refused.
  ///
  /// - Throws: a ``ThreadingError`` (`ESRCH`) when the thread was not started. To start it detached,
  ///   set ``ThreadAttributes/isDetached``.
  public final func detach() throws(ThreadingError) {
    if handle.isLostToFork { throw handle.lostToFork("FoundationThread.detach") }
    guard handle.state != .notStarted else {
      throw handle.refusal(of: .notStarted, by: "FoundationThread")
    }
    detached.store(true, ordering: .relaxed)
  }
}
