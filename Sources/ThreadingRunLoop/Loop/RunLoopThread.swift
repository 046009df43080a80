public import ThreadingPlatform
public import ThreadingThreads

/// A thread that runs its loop from its start on, ready for whatever others hand it.
///
/// ```swift
/// let worker = try RunLoopThread(name: "worker")
/// worker.loop.perform { load() }
/// let timer = try ThreadTimer(every: .seconds(1)) { _ in save() }
/// try worker.loop.add(timer)
/// // ...
/// try worker.finish()
/// ```
///
/// Its run ends when ``finish()`` or ``stop()`` is called or the object goes away, when the loop itself is
/// stopped by ``ThreadRunLoop/stop()``, or when the thread is cancelled. The thread ends with it; what is
/// on the loop is let go of, and whatever is posted later is refused.
///
/// The object goes away when nobody holds it: timers and sources on its loop do not. On whatever thread that
/// happens, its own included, the thread is asked to end and is not waited for; what was posted before is
/// still run.
///
/// - Note: Safe to use from any thread.
public final class RunLoopThread: Sendable {
  /// The thread's loop.
  public let loop: ThreadRunLoop

  private let exitFlag: ExitFlag
  private let thread: PosixThread<ThreadRunLoop.ExitReason, Never>

  /// The thread: its name, state and dictionary.
  public var handle: ThreadHandle { thread.handle }

  /// Starts a thread, which runs its loop when this returns.
  ///
  /// - Parameters:
  ///   - attributes: What to start it with. It must be joinable.
  ///   - setUp: Called on the thread before it runs its loop, with the loop: the place for what has to be
  ///     done there before anything else. The call waits for it.
  /// - Throws: EINVAL for attributes that are out of range or detached; what the system refuses, as
  ///   `PosixThread.start()` has it.
  public init(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    setUp: @escaping @Sendable (ThreadRunLoop) -> Void = { _ in }
  ) throws(ThreadingError) {
    guard !attributes.isDetached else {
      throw .refused(
        by: "RunLoopThread.init", code: .invalid,
        "the attributes ask for a detached thread; it must be joinable")
    }
    let exitFlag = ExitFlag()
    let ready = OneShot<ThreadRunLoop>()
    thread = try PosixThread.start(attributes) {
      let loop = ThreadRunLoop.current
      setUp(loop)
      loop.perform { ready.give(loop) }
      let reason = loop.run(until: exitFlag)
      // For a thread that is cancelled by `setUp`, whose run makes one pass: given already.
      ready.give(loop)
      return reason
    }
    self.exitFlag = exitFlag
    guard case .value(let loop) = ready.wait() else {
      fatalError("RunLoopThread.init: the thread gave no answer")
    }
    self.loop = loop
  }

  /// Starts a thread of that name, which runs its loop when this returns.
  ///
  /// - Throws: What the system refuses, as `PosixThread.start()` has it.
  public convenience init(name: String) throws(ThreadingError) {
    try self.init(ThreadAttributes(name: name))
  }

  deinit { exitFlag.set() }

  /// Has the thread end its run, and itself, without waiting for that. What the caller posted before is
  /// still run.
  public func stop() { exitFlag.set() }

  /// Ends the thread's run and waits for the thread's end. What the caller posted before is still run.
  ///
  /// Any number of calls get the same answer.
  ///
  /// - Returns: Why the run ended: ``ThreadRunLoop/ExitReason/flagSet`` if by this call, ``stop()`` or an
  ///   earlier one.
  /// - Throws: EDEADLK on the thread itself, which is asked to end but cannot wait for it.
  /// - Note: What was done on the thread happens before the call returns.
  @available(*, noasync, message: "finish blocks the calling thread")
  @discardableResult
  public func finish() throws(ThreadingError) -> ThreadRunLoop.ExitReason {
    exitFlag.set()
    return try thread.join()
  }
}
