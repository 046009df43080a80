internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// The timers and sources of one loop, under one lock: any thread may add and remove them.
///
/// An object of its own, since a timer that is still held by its user after the loop's thread has
/// ended shall not keep the loop.
final class LoopItems: Sendable {
  private let state = Locked(LoopItemsState())

  init() {}

  func withLock<Result, Failure: Error>(
    _ body: (inout sending LoopItemsState) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try state.withLock(body)
  }

  func open(_ loop: ThreadRunLoop) {
    state.withLock { $0.loop = loop }
  }

  /// Refuses items from now on and lets go of those that are there.
  func close() {
    // What is let go of is kept until the lock is free: releasing it may run code of the user.
    let released = state.withLock { $0.close() }
    for (source, _) in released.sources { source.wasTakenOff() }
  }

  /// Adds a timer.
  ///
  /// - Returns: whether the loop has to look at its deadline anew.
  /// - Throws: EBUSY, ECANCELED: see ``ItemOwner/claim(for:)``; ESRCH when the loop has ended; what
  ///   the system refuses for a clock that needs a descriptor.
  func add(_ timer: ThreadTimer, modes: UInt64) throws(ThreadingError) -> Bool {
    try state.withLock { (state) throws(ThreadingError) in
      if state.loop == nil { throw .loopEnded("ThreadRunLoop.add") }
      if timer.clock != .monotonic { try state.prepareAlarm(on: timer.clock, for: self) }
      try timer.owner.claim(for: self)
      return state.timers.add(timer, modes: modes)
    }
  }

  /// Cancels a timer of these items.
  func cancel(_ timer: ThreadTimer) -> Bool {
    let cancellation = state.withLock { state in
      let cancelled = state.timers.cancel(timer)
      // With others of its modes there, a loop that sleeps has still something to wait for; at worst
      // it wakes once for nothing.
      let isLast = cancelled.wasToFire && !state.timers.hasOthers(than: timer)
      return Cancellation(cancelled: cancelled, loop: isLast ? state.loop : nil)
    }
    cancellation.loop?.noteRemoval()
    // The closure goes at the end, with the lock free.
    return cancellation.cancelled.wasToFire
  }

  private struct Cancellation {
    let cancelled: TimerTable.Cancelled
    let loop: ThreadRunLoop?
  }

  /// The count of ended firings that stands until the one in progress is over; nil if there is none,
  /// or it is one that the calling thread is in.
  func firingToWaitFor(_ timer: ThreadTimer) -> UInt32? {
    state.withLock { state in
      guard timer.isInCall, state.loop?.isCurrent != true else { return nil }
      timer.hasWaiter = true
      // relaxed: it changes with the lock held.
      return timer.endedFirings.load(ordering: .relaxed)
    }
  }

  /// Sets a timer of these items to another moment, and interval unless nil.
  func reschedule(
    _ timer: ThreadTimer, at moment: ThreadTimer.NewMoment, interval: Int64?
  ) -> Bool {
    changeTimer { $0.reschedule(timer, at: moment, interval: interval) }
  }

  func pause(_ timer: ThreadTimer) -> Bool { state.withLock { $0.timers.pause(timer) } }

  func resume(_ timer: ThreadTimer) -> Bool { changeTimer { $0.resume(timer) } }

  /// Changes when a timer fires, and tells the loop if it has to look at its deadline anew.
  private func changeTimer(_ change: (inout TimerTable) -> Bool?) -> Bool {
    let (isThere, loop) = state.withLock { state in
      let isFirst = change(&state.timers)
      return (isFirst != nil, isFirst == true ? state.loop : nil)
    }
    loop?.notifyFromOutside()
    return isThere
  }

  /// Adds a source.
  ///
  /// - Returns: the loop, which has to be told.
  /// - Throws: what the poller refuses; EBUSY, ECANCELED: see ``ItemOwner/claim(for:)``; ESRCH when
  ///   the loop has ended.
  func add(_ source: InputSource, modes: UInt64) throws(ThreadingError) -> ThreadRunLoop {
    try state.withLock { (state) throws(ThreadingError) in
      guard let loop = state.loop else { throw .loopEnded("ThreadRunLoop.add") }
      // Before the poller refuses the descriptor that this source watches already.
      try source.owner.checkFree()
      try state.sources.add(source, modes: modes) { () throws(ThreadingError) in
        try source.owner.claim(for: self)
      }
      return loop
    }
  }

  /// Cancels a source of these items.
  func cancel(_ source: InputSource) -> Bool {
    let (wasThere, handler, loop) = state.withLock { state in
      let wasThere = source.slot >= 0
      return (wasThere, state.sources.remove(source), wasThere ? state.loop : nil)
    }
    // The handler goes here, with the lock free.
    _ = handler
    if wasThere { source.wasTakenOff() }
    loop?.noteRemoval()
    return wasThere
  }

  /// Adds an observer.
  ///
  /// - Throws: EBUSY, ECANCELED: see ``ItemOwner/claim(for:)``; ESRCH when the loop has ended.
  func add(_ observer: RunLoopObserver, modes: UInt64) throws(ThreadingError) {
    try state.withLock { (state) throws(ThreadingError) in
      guard state.loop != nil else { throw .loopEnded("ThreadRunLoop.add") }
      try observer.owner.claim(for: self)
      state.observers.add(observer, modes: modes)
      state.noteObservers()
    }
  }

  /// Cancels an observer of these items.
  func cancel(_ observer: RunLoopObserver) -> Bool {
    let handler = state.withLock { state in
      let handler = state.observers.remove(observer)
      state.noteObservers()
      return handler
    }
    return handler != nil
  }

  /// Takes a signal back that was not served yet.
  func takeBackSignal(_ source: InputSource) {
    state.withLock { $0.sources.takeBackSignal(source) }
  }

  /// Has a source that needs no descriptor served once.
  func signal(_ source: InputSource) {
    let loop = state.withLock { $0.sources.signal(source) ? $0.loop : nil }
    loop?.notifyFromOutside()
  }

  /// Has a source's descriptor watched for what the source asks for now.
  func changeEvents(_ source: InputSource) {
    let loop = state.withLock { $0.sources.changeEvents(source) ? $0.loop : nil }
    loop?.notifyFromOutside()
  }

  func pause(_ source: InputSource) {
    state.withLock { $0.sources.pause(source) }
  }

  func resume(_ source: InputSource) {
    let loop = state.withLock { state in
      state.sources.resume(source)
      return state.loop
    }
    loop?.notifyFromOutside()
  }

  /// Calls the timers of the given modes that are due; what is scheduled meanwhile waits for the
  /// next look.
  ///
  /// - Returns: whether any was called.
  func fireDueTimers(in modes: UInt64, of loop: ThreadRunLoop) -> Bool {
    let looks = state.withLock { state in
      PerClock { state.timers.look(at: $0, in: modes) }
    }
    // One after the other, without an array of all: this is done in each pass.
    var fired = fireDueTimers(looks[.monotonic], in: modes, of: loop)
    fired = fireDueTimers(looks[.boot], in: modes, of: loop) || fired
    return fireDueTimers(looks[.wall], in: modes, of: loop) || fired
  }

  private func fireDueTimers(
    _ look: TimerTable.Look?, in modes: UInt64, of loop: ThreadRunLoop
  ) -> Bool {
    guard let look else { return false }
    guard var due = state.withLock({ $0.timers.popDue(look, in: modes) }) else { return false }
    while true {
      let outer = loop.calls.begin(.timer, due.firing.timer.callLabel.number)
      due.callback?.body(due.firing)
      loop.calls.end(outer)
      let next = state.withLock { state in
        state.timers.end(due)
        return state.timers.popDue(look, in: modes)
      }
      guard let next else { return true }
      // The timer and its closure, if it is done, go here, with the lock free.
      due = next
    }
  }
}

/// What the lock of ``LoopItems`` guards.
struct LoopItemsState {
  /// The loop, until its thread ends.
  var loop: ThreadRunLoop?
  var timers = TimerTable()
  var sources = SourceTable()
  var observers = ObserverTable()
  var idle = IdleQueue()
  var alarms = PerClock(AlarmSource?.none)

  /// Whether there is anything to wait for in the given modes.
  func hasItems(in modes: UInt64) -> Bool {
    timers.hasTimers(in: modes) || sources.hasSources(in: modes)
      || idle.hasBlocks(in: modes)
  }

  /// The observers have changed: the loop is told which points they want.
  func noteObservers() {
    // relaxed: see ThreadRunLoop.isTold.
    loop?.observedActivities.store(observers.activities.rawValue, ordering: .relaxed)
  }

  struct Released {
    let timers: [ThreadTimer.Callback]
    let sources: [(source: InputSource, handler: Any?)]
    let others: [Any?]
  }

  mutating func close() -> Released {
    loop = nil
    alarms = PerClock(nil)
    return Released(
      timers: timers.close(), sources: sources.close(), others: observers.close() + idle.close())
  }
}
