internal import Synchronization
internal import ThreadingPlatform

// The step of a pass in which the loop sleeps.
extension ThreadRunLoop {
  /// What the loop would sleep for.
  struct WaitPlan {
    var timer: MonotonicInstant?
    /// Whether a timer of another clock is due.
    var hasDueAlarm: Bool
    /// Whether there is anything that could come: a source, or a timer that is paused.
    var hasItems: Bool
    /// Whether a source is to be served without the poller's having reported it.
    var hasReadySources: Bool
    var hasIdleBlocks: Bool
    /// Where to sleep; nil for the wake word.
    var poller: Poller?
  }

  /// Waits for something to do, if there is nothing.
  ///
  /// - Returns: whether it has run an idle block instead.
  func waitForWork(_ frame: Frame, _ modes: UInt64, mayWait: Bool) -> Bool {
    var plan = waitPlan(modes)
    guard mayWait, isIdle(plan), !endIsAsked(frame) else {
      look(plan)
      return false
    }
    if plan.hasIdleBlocks {
      look(plan)
      guard isIdle(plan), inbox.isEmpty, !isDue(plan), runIdleBlock(in: modes) else { return false }
      look(waitPlan(modes))
      return true
    }
    guard hasReason(plan, frame, modes) else {
      look(plan)
      return false
    }
    if isTold(.beforeWaiting) || isTold(.afterWaiting) {
      // A timer that is due, or a run whose time is up, leaves nothing to wait for.
      guard !plan.hasDueAlarm, isAhead(wakeMoment(plan, frame, modes)) else {
        look(plan)
        return false
      }
      tell(.beforeWaiting, modes)
      // What the observers did may be a reason not to sleep, or leave nothing to sleep for.
      plan = waitPlan(modes)
      let maySleep = isIdle(plan) && !plan.hasIdleBlocks && hasReason(plan, frame, modes)
      let hasSlept = maySleep && !endIsAsked(frame) && sleep(plan, frame, modes)
      tell(.afterWaiting, modes)
      if !hasSlept { look(plan) }
    } else if !sleep(plan, frame, modes) {
      look(plan)
    }
    return false
  }

  /// Looks at the descriptors, if there are any, without waiting.
  private func look(_ plan: WaitPlan) {
    if let poller = plan.poller { look(poller, until: MonotonicInstant(nanoseconds: 0)) }
  }

  private func waitPlan(_ modes: UInt64) -> WaitPlan {
    items.withLock { state in
      if state.hasAlarms { state.setAlarms(for: modes) }
      let timer = state.timers.earliest(in: modes, on: .monotonic)
      return WaitPlan(
        timer: timer.map { MonotonicInstant(nanoseconds: $0) },
        hasDueAlarm: state.hasAlarms && state.timers.hasDueAlarm(in: modes),
        hasItems: state.hasItems(in: modes),
        hasReadySources: state.sources.hasReadySources,
        hasIdleBlocks: state.idle.hasBlocks(in: modes),
        poller: state.sources.registeredCount > 0 ? state.sources.poller : nil)
    }
  }

  /// Whether there is nothing to do at the moment.
  private func isIdle(_ plan: WaitPlan) -> Bool {
    pending.isEmpty && readyPosition == ready.count && !plan.hasReadySources
  }

  /// Whether a timer is due.
  private func isDue(_ plan: WaitPlan) -> Bool {
    plan.hasDueAlarm || plan.timer.map { !isAhead($0) } ?? false
  }

  /// Whether there is anything to wait for. If not, the pass decides that the run is finished.
  private func hasReason(_ plan: WaitPlan, _ frame: Frame, _ modes: UInt64) -> Bool {
    plan.hasItems || frame.flag != nil
  }

  func pollsMainQueue(in modes: UInt64) -> Bool {
    mainQueueService == .byPolling && modes & ModeSet.commonBit != 0
  }

  func endIsAsked(_ frame: Frame) -> Bool {
    // acquiring, here and in the flag: pairs with the release in stop().
    stopRequested.load(ordering: .acquiring) || frame.flag?.isSet == true || hasEnded
      || thread.isCancelled
  }

  /// When a sleep has to end by itself.
  private func wakeMoment(_ plan: WaitPlan, _ frame: Frame, _ modes: UInt64) -> MonotonicInstant {
    let deadline = min(frame.deadline, plan.timer ?? .distantFuture)
    guard pollsMainQueue(in: modes) else { return deadline }
    return min(deadline, .now.advanced(by: Self.mainQueuePollInterval))
  }

  private func isAhead(_ moment: MonotonicInstant) -> Bool {
    moment == .distantFuture || moment > .now
  }

  /// Sleeps until a moment or until woken.
  ///
  /// - Returns: false if there was no need to: something came meanwhile.
  private func sleep(_ plan: WaitPlan, _ frame: Frame, _ modes: UInt64) -> Bool {
    let deadline = wakeMoment(plan, frame, modes)
    guard !plan.hasDueAlarm, isAhead(deadline) else { return false }
    if let limit = lookOutLimit, lookOut(plan.poller, until: limit, deadline) { return false }
    guard let poller = plan.poller else {
      guard wakeWord.beginSleep(inPoll: false) else { return false }
      // From here on a poster sees the sleeper; one that came before is seen here.
      if inbox.isEmpty {
        count(sleepCount)
        wakeWord.sleep(until: deadline)
      }
      wakeWord.beginPass()
      return true
    }
    guard let limit = findClosedDescriptors() else { return false }
    if sleepingPlace == nil { sleepingPlace = poller }
    guard wakeWord.beginSleep(inPoll: true) else { return false }
    let mustLookOnly = !inbox.isEmpty
    if !mustLookOnly { count(sleepCount) }
    look(poller, until: mustLookOnly ? MonotonicInstant(nanoseconds: 0) : min(deadline, limit))
    wakeWord.beginPass()
    return true
  }

  /// Looks out for something to do, without sleeping.
  ///
  /// - Returns: whether there is something, or the deadline has come.
  private func lookOut(
    _ poller: Poller?, until limit: MonotonicInstant, _ deadline: MonotonicInstant
  ) -> Bool {
    let end = min(limit, deadline)
    repeat {
      for _ in 0..<32 {
        if !inbox.isEmpty || wakeWord.isNotified { return true }
        Processors.relax()
      }
      if let poller {
        look(poller, until: MonotonicInstant(nanoseconds: 0))
        if readyPosition < ready.count { return true }
      }
    } while .now < end
    return deadline <= limit
  }

  private func look(_ poller: Poller, until deadline: MonotonicInstant) {
    if readyPosition == ready.count {
      ready.removeAll(keepingCapacity: true)
    } else {
      // An outer run has left events. What is reported once more would be served twice.
      let left = ready[readyPosition...]
      ready = items.withLock { state in left.filter { !state.sources.isReportedAnew($0) } }
    }
    readyPosition = 0
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
}
