internal import Synchronization
internal import ThreadingLocks
public import ThreadingPlatform
internal import ThreadingRunLoop
internal import ThreadingThreads

extension ThreadOperation {
  /// Has the operation start no earlier than at a moment, like a dependency on time. In a queue it takes no
  /// thread and no slot meanwhile; started by hand before the moment, it is refused. Cancelling it ends the delay.
  ///
  /// - Parameter moment: the earliest start. A moment in the past, or a cancelled operation, changes nothing.
  /// - Throws: ``ThreadOperationError/Reason/hasStarted`` if the operation has started or finished;
  ///   ``ThreadOperationError/Reason/noTimer`` if the thread that keeps the time was refused by the system.
  public final func delay(until moment: MonotonicInstant) throws(ThreadOperationError) {
    guard moment > .now, !isCancelled else { return }
    let gate = ClosureOperation(name: "delay of \(label)") {}
    try addDependency(gate)
    do throws(ThreadingError) {
      let timer = try TimeKeeper.call(at: moment) { gate.open() }
      // It waits for the gate no longer then.
      addCancellationHandler { _ in timer.cancel() }
    } catch {
      gate.open()
      throw ThreadOperationError(
        .noTimer, self, "\(self) cannot be delayed: \(error)")
    }
  }

  /// Has the operation start no earlier than after a time; see ``delay(until:)``.
  ///
  /// - Parameter duration: how long from now.
  /// - Throws: as ``delay(until:)``.
  public final func delay(for duration: Duration) throws(ThreadOperationError) {
    try delay(until: .now.advanced(by: duration))
  }

  /// Cancels the operation, for the reason ``ThreadOperationError/Reason/timedOut``, if it has not finished at
  /// a moment.
  ///
  /// As with any cancellation, work that is under way goes on until it notices; its thread is not stopped.
  ///
  /// - Parameter moment: the latest end.
  /// - Throws: ``ThreadOperationError/Reason/noTimer`` if the thread that keeps the time was refused by the
  ///   system.
  public final func cancel(unlessFinishedBy moment: MonotonicInstant) throws(ThreadOperationError) {
    guard !isFinished else { return }
    do throws(ThreadingError) {
      let timer = try TimeKeeper.call(at: moment) { [weak self] in
        self?.cancelForTime()
      }
      addCompletion { _ in timer.cancel() }
    } catch {
      throw ThreadOperationError(.noTimer, self, "\(self) cannot be given a time limit: \(error)")
    }
  }

  /// Cancels on a thread of a pool for time limits, since cancellation handlers may take their time.
  private final func cancelForTime() {
    let reason = ThreadOperationError(.timedOut, self, "\(self) was not finished in time")
    do throws(ThreadOperationError) {
      try TimeKeeper.limits.run { [self] in cancel(reason: reason) }
    } catch {
      // Nobody else has that pool, so nobody has shut it down.
      cancel(reason: reason)
    }
  }

  /// Runs an operation that was never handed out, and does nothing to one that was.
  fileprivate final func open() {
    do throws(ThreadOperationError) {
      try start()
    } catch {
      // It was started before: by the other of the two that may open it.
    }
  }
}

/// The thread that keeps the time for delays and time limits: one for the process, started when it is first
/// needed, asleep until the next moment comes.
enum TimeKeeper {
  private static let loop = Locked<ThreadRunLoop?>(nil)

  /// Where cancellations for time are called, and the user's handlers with them: neither held up by what the
  /// shared pool does, nor holding up other delays and limits.
  static let limits = ThreadPool(
    PoolCore(
      minimum: 0, maximum: 64, closureWidth: 64, idleTimeout: .seconds(10),
      attributes: ThreadAttributes(name: "time limits")))

  /// Has `body` called at a moment. It must be short.
  ///
  /// - Throws: what the system refuses when the thread is started.
  @discardableResult
  static func call(
    at moment: MonotonicInstant, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadingError) -> ThreadTimer {
    let timer = try ThreadTimer(at: moment) { _ in body() }
    try present().add(timer)
    return timer
  }

  private static func present() throws(ThreadingError) -> ThreadRunLoop {
    try loop.withLock { (loop) throws(ThreadingError) -> ThreadRunLoop in
      if let loop { return loop }
      let arrival = TimeKeeperArrival()
      let attributes = ThreadAttributes(
        name: "time keeper", stackSize: 256 << 10, isDetached: true)
      let thread = PosixThread<Void, Never>(attributes) { arrival.serve() }
      // Whoever happens to be the first to ask for time has nothing to do with what follows.
      thread.handle.disinherit()
      try thread.start()
      let made = arrival.wait()
      loop = made
      return made
    }
  }
}

/// How the time keeper's thread tells its loop to the one who started it.
private final class TimeKeeperArrival: Sendable {
  private let mutex = FastMutex()
  private let arrived = ConditionVariable()
  // SAFETY of nonisolated(unsafe): only touched with `mutex` held.
  private nonisolated(unsafe) var loop: ThreadRunLoop?

  func serve() -> Never {
    mutex.withLock { unsafe loop = .current }
    arrived.broadcast()
    // A flag that is never set: the loop waits for timers also when there are none.
    let never = ExitFlag()
    while true { ThreadRunLoop.current.run(until: never) }
  }

  func wait() -> ThreadRunLoop {
    mutex.lock()
    defer { mutex.unlock() }
    while true {
      if let loop = unsafe loop { return loop }
      arrived.wait(mutex)
    }
  }
}
