internal import Synchronization
public import ThreadingPlatform

extension ThreadRunLoop {
  /// Runs in the default mode until ``stop()`` is called or nothing is left to wait for.
  ///
  /// With nothing to wait for it returns at once. So it does when the thread is cancelled: all runs of
  /// a cancelled thread's loop end with ``ExitReason/cancelled``, those under way included. What counts are timers, sources and posted blocks
  /// of the run's mode; that another thread might post some day does not. To wait for that, run
  /// until an ``ExitFlag``.
  ///
  /// Runs may be nested: a block, timer or source that runs its loop holds up the outer run, which
  /// goes on when the inner one has ended. A handler that is being called is nothing to wait for: a
  /// timer that fires once and a process that has ended have left the loop when their closures are
  /// called, so a run inside them may be finished at once.
  ///
  /// - Returns: ``ExitReason/stopped``, ``ExitReason/cancelled`` or ``ExitReason/finished``.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  @available(*, noasync, message: "run blocks the calling thread")
  @discardableResult
  public func run() -> ExitReason { run(until: MonotonicInstant.distantFuture) }

  /// Runs in the default mode until a moment, ``stop()``, or nothing is left to wait for.
  ///
  /// A moment that has passed makes one pass without sleeping.
  ///
  /// - Returns: ``ExitReason/timedOut``, ``ExitReason/stopped``, ``ExitReason/cancelled`` or
  ///   ``ExitReason/finished``.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  @available(*, noasync, message: "run blocks the calling thread")
  @discardableResult
  public func run(until deadline: MonotonicInstant) -> ExitReason {
    run(Frame(mode: .default, deadline: deadline, endsWhenHandled: false, flag: nil))
  }

  /// Runs in the default mode for some time: ``run(until:)-(MonotonicInstant)`` from now.
  @available(*, noasync, message: "run blocks the calling thread")
  @discardableResult
  public func run(for duration: Duration) -> ExitReason {
    run(until: .now.advanced(by: duration))
  }

  /// Runs until a flag is set, whether or not there is anything else to wait for.
  ///
  /// - Returns: ``ExitReason/flagSet``, ``ExitReason/stopped`` or ``ExitReason/cancelled``;
  ///   ``ExitReason/timedOut`` if the deadline came first.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  @available(*, noasync, message: "run blocks the calling thread")
  @discardableResult
  public func run(
    until flag: ExitFlag, mode: Mode = .default, deadline: MonotonicInstant = .distantFuture
  ) -> ExitReason {
    flag.attach(self)
    defer { flag.detach(self) }
    return run(Frame(mode: mode, deadline: deadline, endsWhenHandled: false, flag: flag))
  }

  /// Runs in a mode until an input was handled, a moment, ``stop()``, or nothing is left to wait
  /// for in that mode.
  ///
  /// Posted blocks and sources are inputs. Timers are not: any number may fire before it returns.
  /// All inputs that are there together are handled together.
  ///
  /// - Returns: Any reason but ``ExitReason/flagSet``. A mode for which nothing was added, known or
  ///   not, is ``ExitReason/finished`` at once.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  @available(*, noasync, message: "run blocks the calling thread")
  @discardableResult
  public func run(mode: Mode, until deadline: MonotonicInstant = .distantFuture) -> ExitReason {
    run(Frame(mode: mode, deadline: deadline, endsWhenHandled: true, flag: nil))
  }

  /// Makes one pass without sleeping: serves what is there now.
  ///
  /// For a thread that does work of its own and looks in between at what the others want.
  ///
  /// - Returns: ``ExitReason/handledSource`` if a posted block or source was served,
  ///   ``ExitReason/timedOut`` if none was there, ``ExitReason/stopped``, ``ExitReason/cancelled``,
  ///   or ``ExitReason/finished`` if there is nothing that could come.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  @available(*, noasync, message: "poll runs what others have posted inside the caller's job")
  @discardableResult
  public func poll(mode: Mode = .default) -> ExitReason {
    run(
      Frame(
        mode: mode, deadline: MonotonicInstant(nanoseconds: .min), endsWhenHandled: true, flag: nil)
    )
  }

  /// When the first timer of a mode fires; nil when it has none. Runs nothing.
  ///
  /// - Note: Safe to call from any thread.
  public func nextDeadline(in mode: Mode = .default) -> MonotonicInstant? {
    let modes = activeModes(mode)
    return items.withLock { $0.timers.earliestOfAll(in: modes) }
  }

  // MARK: -

  /// One run: what it listens to and what ends it.
  struct Frame {
    let mode: Mode
    let deadline: MonotonicInstant
    let endsWhenHandled: Bool
    let flag: ExitFlag?
  }

  /// The most blocks that one step runs.
  static var blockLimit: Int { 256 }

  private func run(_ new: Frame) -> ExitReason {
    requireOwner("run")
    let outer = frame
    frame = new
    for source in serving { source.runBegins() }
    tell(.entry, activeModes(new.mode))
    var reason: ExitReason?
    while reason == nil { reason = pass(new) }
    tell(.exit, activeModes(new.mode))
    frame = outer
    // The outer run goes on in the middle of a pass: what this one has put aside, for it would not have
    // been served here, is the outer one's to serve before it sleeps.
    if let outer { listen(in: activeModes(outer.mode)) }
    return reason!
  }

  /// One pass, as the table of ``ThreadRunLoop`` has it.
  ///
  /// - Returns: why the run ends, or nil if it goes on.
  private func pass(_ frame: Frame) -> ExitReason? {
    wakeWord.beginPass()
    count(passCount)
    if mainQueueService != .absent { serveMainQueue() }
    let modes = activeModes(frame.mode)
    listen(in: modes)
    tell(.beforeTimers, modes)
    tell(.beforeSources, modes)
    var handled = runPosted(in: modes)
    handled = serveSignalled(in: modes) || handled
    let ranIdleBlock = waitForWork(frame, modes, mayWait: !(handled && frame.endsWhenHandled))
    if pollsMainQueue(in: modes) { MainDispatchQueue.drain() }
    let fired = items.fireDueTimers(in: modes, of: self)
    handled = serveReady(in: modes) || handled
    handled = runPosted(in: modes) || handled
    if fired || handled { isQuiet = false }
    return exitReason(frame, modes, handled, hasCalled: handled || fired || ranIdleBlock)
  }

  /// Looks again at the blocks and sources that were put aside, once other modes are served than before.
  private func listen(in modes: UInt64) {
    guard modes != servedModes else { return }
    servedModes = modes
    pending.prepend(&deferred)
    items.withLock { $0.sources.unpark(for: modes) }
  }

  /// The bits of the sets that are served in a mode.
  private func activeModes(_ mode: Mode) -> UInt64 {
    let bit = ModeSet.bit(mode)
    // relaxed: a change is followed by notify(), which beginPass() acquires.
    let isCommon = commonModes.load(ordering: .relaxed) & bit != 0
    return isCommon ? bit | ModeSet.commonBit : bit
  }

  // MARK: Ending

  private func exitReason(
    _ frame: Frame, _ modes: UInt64, _ handled: Bool, hasCalled: Bool
  ) -> ExitReason? {
    // acquiring: pairs with the release in stop(), for what was posted before it.
    if stopRequested.load(ordering: .relaxed), stopRequested.exchange(false, ordering: .acquiring) {
      runAllPosted(in: modes)
      return .stopped
    }
    if let flag = frame.flag, flag.isSet {
      runAllPosted(in: modes)
      return .flagSet
    }
    if thread.isCancelled { return .cancelled }
    if handled && frame.endsWhenHandled { return .handledSource }
    if hasEnded || (frame.flag == nil && !hasWork(in: modes) && !mayHaveMore(hasCalled)) {
      return .finished
    }
    if frame.deadline != .distantFuture, frame.deadline <= .now { return .timedOut }
    return nil
  }

  /// Whether what was called in the pass may have put something on the main queue of Dispatch, which is
  /// served but not waited for, and of which only the next pass would know.
  private func mayHaveMore(_ hasCalled: Bool) -> Bool {
    hasCalled && mainQueueService != .absent
  }

  /// Whether there is anything to do or to wait for.
  private func hasWork(in modes: UInt64) -> Bool {
    if !pending.isEmpty { return true }
    if !inbox.isEmpty { return true }
    return items.withLock { $0.hasItems(in: modes) }
  }
}
