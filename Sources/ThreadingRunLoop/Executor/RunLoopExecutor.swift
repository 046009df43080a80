internal import ThreadingPlatform

/// Runs actors and tasks on the thread of a loop: an actor that is pinned to a thread of one's own,
/// with its stack size, priority and processors.
///
/// ```swift
/// actor Sensor {
///   let executor: RunLoopExecutor
///   nonisolated var unownedExecutor: UnownedSerialExecutor {
///     unsafe executor.asUnownedSerialExecutor()
///   }
///   init(on loop: ThreadRunLoop) { executor = RunLoopExecutor(loop) }
/// }
/// ```
///
/// As a task executor it gives a task's nonisolated code the same home:
/// `Task(executorPreference: executor) { ... }`.
///
/// A job that runs its loop, by way of a function that is not async, has other jobs run meanwhile, also
/// those of its own actor: whose state may change in the middle, as it may at an `await`.
///
/// The loop must be running for the work to be done, in one of the executor's modes. Jobs run as
/// blocks that are posted do, in order; one wake-up serves a burst.
///
/// - Precondition: The loop's thread outlives what runs on it. A job for a loop whose thread has
///   ended cannot run anywhere else, and stops the program with a message. Jobs that wait when the
///   thread ends are run on it before it does.
public final class RunLoopExecutor: SerialExecutor, TaskExecutor {
  /// The loop whose thread the jobs run on.
  public let loop: ThreadRunLoop

  private let modes: ThreadRunLoop.ModeSet

  /// An executor for a loop.
  ///
  /// - Parameters:
  ///   - loop: Whose thread the jobs run on. Any number of executors may share it.
  ///   - modes: The modes in which they may run.
  public init(_ loop: ThreadRunLoop, in modes: ThreadRunLoop.ModeSet = .common) {
    require(
      !modes.isEmpty, "RunLoopExecutor.init: the set of modes is empty; no job would ever run")
    self.loop = loop
    self.modes = modes
  }

  /// Posts a job to the loop. Called by the concurrency runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard loop.post(modes, .job(job, self)) else {
      fatalError("RunLoopExecutor.enqueue: the thread of the loop has ended; the job cannot run")
    }
  }

  /// The executor as an actor's `unownedExecutor` wants it. The actor keeps the executor itself.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  /// The executor as the concurrency runtime wants it.
  public func asUnownedTaskExecutor() -> UnownedTaskExecutor {
    unsafe UnownedTaskExecutor(ordinary: self)
  }

  /// Whether the calling thread is the loop's: code that is isolated to an actor of this executor
  /// may run on it. Costs a thread-local read.
  public func isIsolatingCurrentContext() -> Bool? { loop.isCurrent }

  /// Stops the program if the calling thread is not the loop's.
  public func checkIsolated() {
    require(
      loop.isCurrent,
      "RunLoopExecutor.checkIsolated: the code is isolated to the loop of thread "
        + "\(loop.threadID), but runs on thread \(SystemThread.currentID)")
  }

  func run(_ job: UnownedJob) {
    unsafe job.runSynchronously(
      isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
  }
}
