internal import Synchronization
public import ThreadingPlatform

extension ThreadRunLoop {
  /// Runs in the default mode until ``stop()`` is called or nothing is left to wait for.
  ///
  /// With nothing to wait for it returns at once. What counts are timers, sources and posted blocks
  /// of the run's mode; that another thread might post some day does not. To wait for that, run
  /// until an ``ExitFlag``.
  ///
  /// Runs may be nested: a block, timer or source that runs its loop holds up the outer run, which
  /// goes on when the inner one has ended.
  ///
  /// - Returns: ``ExitReason/stopped`` or ``ExitReason/finished``.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  @available(*, noasync, message: "run blocks the calling thread")
  @discardableResult
  public func run() -> ExitReason { run(until: MonotonicInstant.distantFuture) }

  /// Runs in the default mode until a moment, ``stop()``, or nothing is left to wait for.
  ///
  /// A moment that has passed makes one pass without sleeping.
  ///
  /// - Returns: ``ExitReason/timedOut``, ``ExitReason/stopped`` or ``ExitReason/finished``.
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
  /// - Returns: ``ExitReason/flagSet`` or ``ExitReason/stopped``; ``ExitReason/timedOut`` if the
  ///   deadline came first.
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
  ///   ``ExitReason/timedOut`` if none was there, ``ExitReason/stopped``, or
  ///   ``ExitReason/finished`` if there is nothing that could come.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
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
    return items.withLock { $0.timers.earliest(in: modes) }
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
  private static var blockLimit: Int { 256 }

  private func run(_ new: Frame) -> ExitReason {
    requireOwner("run")
    let outer = frame
    frame = new
    defer { frame = outer }
    while true {
      if let reason = pass(new) { return reason }
    }
  }

  /// One pass, as the table of ``ThreadRunLoop`` has it.
  ///
  /// - Returns: why the run ends, or nil if it goes on.
  private func pass(_ frame: Frame) -> ExitReason? {
    wakeWord.beginPass()
    if mainQueueService != .absent { serveMainQueue() }
    let modes = activeModes(frame.mode)
    if modes != servedModes {
      servedModes = modes
      pending.prepend(&deferred)
      items.withLock { $0.sources.unpark(for: modes) }
    }
    var handled = runPosted(in: modes)
    waitForWork(frame, modes, mayWait: !(handled && frame.endsWhenHandled))
    if mainQueueService == .byPolling, modes & ModeSet.commonBit != 0 { MainDispatchQueue.drain() }
    let fired = items.fireDueTimers(in: modes)
    handled = serveReady(in: modes) || handled
    handled = runPosted(in: modes) || handled
    if fired || handled { isQuiet = false }
    return exitReason(frame, modes, handled)
  }

  /// The bits of the sets that are served in a mode.
  private func activeModes(_ mode: Mode) -> UInt64 {
    let bit = ModeSet.bit(mode)
    // relaxed: a change is followed by notify(), which beginPass() acquires.
    let isCommon = commonModes.load(ordering: .relaxed) & bit != 0
    return isCommon ? bit | ModeSet.commonBit : bit
  }

  // MARK: Sleeping

  private func waitForWork(_ frame: Frame, _ modes: UInt64, mayWait: Bool) {
    let (timer, hasSources, poller, hasFound) = items.withLock { state in
      (
        state.timers.earliest(in: modes), state.sources.hasSources(in: modes),
        state.sources.registeredCount > 0 ? state.sources.poller : nil, state.sources.hasFound
      )
    }
    // With nothing to wait for, the pass decides that the run is finished.
    let isPolling = mainQueueService == .byPolling && modes & ModeSet.commonBit != 0
    let hasReason = timer != nil || hasSources || frame.flag != nil || isPolling
    let isIdle = pending.isEmpty && readyPosition == ready.count && !hasFound
    if mayWait, isIdle, hasReason, !endIsAsked(frame) {
      var deadline = min(frame.deadline, timer ?? .distantFuture)
      if isPolling { deadline = min(deadline, .now.advanced(by: Self.mainQueuePollInterval)) }
      if sleep(until: deadline, in: poller) { return }
    }
    if let poller { look(poller, until: MonotonicInstant(nanoseconds: 0)) }
  }

  /// Sleeps until a moment or until woken.
  ///
  /// - Returns: false if there was no need to: something came meanwhile.
  private func sleep(until deadline: MonotonicInstant, in poller: Poller?) -> Bool {
    guard let poller else {
      guard deadline.nanoseconds > 0, wakeWord.beginSleep(inPoll: false) else { return false }
      // From here on a poster sees the sleeper; one that came before is seen here.
      if inbox.isEmpty { wakeWord.sleep(until: deadline) }
      wakeWord.beginPass()
      return true
    }
    guard let limit = findClosedDescriptors() else { return false }
    if sleepingPlace == nil { sleepingPlace = poller }
    guard wakeWord.beginSleep(inPoll: true) else { return false }
    if inbox.isEmpty {
      look(poller, until: min(deadline, limit))
    } else {
      look(poller, until: MonotonicInstant(nanoseconds: 0))
    }
    wakeWord.beginPass()
    return true
  }

  private func look(_ poller: Poller, until deadline: MonotonicInstant) {
    if readyPosition == ready.count {
      ready.removeAll(keepingCapacity: true)
      readyPosition = 0
    }
    waitNumber += 1
    _ = poller.wait(until: deadline, into: &ready)
  }

  /// Looks, after something was done, for descriptors that were closed under the loop: a few
  /// before each sleep, and the others in short steps once nothing else is going on. Then the loop
  /// sleeps undisturbed.
  ///
  /// - Returns: how long to sleep at most before the next step; nil if one was found.
  private func findClosedDescriptors() -> MonotonicInstant? {
    if !isQuiet { uncheckedCount = items.withLock { $0.sources.slotCount } }
    guard uncheckedCount > 0 else { return .distantFuture }
    let step = isQuiet ? 256 : 4
    isQuiet = true
    uncheckedCount -= min(step, uncheckedCount)
    let hasFound = items.withLock { state in
      state.sources.findClosed(atMost: step)
      return state.sources.hasFound
    }
    if hasFound { return nil }
    return uncheckedCount > 0 ? .now.advanced(by: .milliseconds(10)) : .distantFuture
  }

  // MARK: Sources

  /// Serves the sources that are ready.
  ///
  /// - Returns: whether any was.
  private func serveReady(in modes: UInt64) -> Bool {
    let hasFound = items.withLock { $0.sources.hasFound }
    if hasFound { ready += items.withLock { $0.sources.takeFound() } }
    guard readyPosition < ready.count else { return false }
    var served = false
    // A nested run goes on with what is left, from the same position.
    while readyPosition < ready.count {
      let event = ready[readyPosition]
      readyPosition += 1
      let next = items.withLock { $0.sources.job(for: event, in: modes, wait: waitNumber) }
      guard let next else { continue }
      next.job.run()
      served = true
    }
    items.withLock { $0.sources.dropLostRegistrations() }
    return served
  }

  private func endIsAsked(_ frame: Frame) -> Bool {
    // acquiring, here and in the flag: pairs with the release in stop().
    stopRequested.load(ordering: .acquiring) || frame.flag?.isSet == true || hasEnded
  }

  // MARK: Ending

  private func exitReason(_ frame: Frame, _ modes: UInt64, _ handled: Bool) -> ExitReason? {
    // acquiring: pairs with the release in stop(), for what was posted before it.
    if stopRequested.load(ordering: .acquiring) {
      // relaxed: only this thread takes it back; a stop that comes now merges with this one.
      stopRequested.store(false, ordering: .relaxed)
      runAllPosted(in: modes)
      return .stopped
    }
    if let flag = frame.flag, flag.isSet {
      runAllPosted(in: modes)
      return .flagSet
    }
    if handled && frame.endsWhenHandled { return .handledSource }
    if hasEnded || (frame.flag == nil && !hasWork(in: modes)) { return .finished }
    if frame.deadline != .distantFuture, frame.deadline <= .now { return .timedOut }
    return nil
  }

  /// Whether there is anything to do or to wait for.
  private func hasWork(in modes: UInt64) -> Bool {
    if !pending.isEmpty { return true }
    if !inbox.isEmpty { return true }
    if mainQueueService == .byPolling, modes & ModeSet.commonBit != 0 { return true }
    return items.withLock { $0.hasItems(in: modes) }
  }

  // MARK: Posted blocks

  /// Runs what was posted before the call, up to the limit.
  ///
  /// - Returns: whether there was anything.
  private func runPosted(in modes: UInt64) -> Bool {
    takePosted()
    var ran = 0
    while ran < Self.blockLimit, let block = unsafe pending.popFirst() {
      if unsafe runOrDefer(block, modes) { ran += 1 }
    }
    return ran > 0
  }

  /// Runs what was posted before the call, without a limit.
  private func runAllPosted(in modes: UInt64) {
    takePosted()
    while let block = unsafe pending.popFirst() { _ = unsafe runOrDefer(block, modes) }
  }

  private func takePosted() {
    unsafe pending.append(newestFirst: inbox.takeAll())
  }

  /// Runs a block and frees it, or keeps it for a run in its modes.
  private func runOrDefer(_ block: UnsafeMutablePointer<PostedBlock>, _ modes: UInt64) -> Bool {
    if unsafe block.pointee.modes & modes == 0 {
      unsafe deferred.append(block)
      return false
    }
    let contents = unsafe block.move()
    unsafe block.deallocate()
    unsafe contents.body()
    return true
  }
}
