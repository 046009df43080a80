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
    _ body: (inout sending LoopItemsState) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    try state.withLock(body)
  }

  func open(_ loop: ThreadRunLoop) {
    state.withLock { $0.loop = loop }
  }

  /// Refuses items from now on and lets go of those that are there.
  func close() {
    // What is let go of is kept until the lock is free: releasing it may run code of the user.
    let bodies = state.withLock { $0.close() }
    _ = consume bodies
  }

  /// Adds a timer.
  ///
  /// - Returns: the loop, if it has to look at its deadline anew.
  /// - Throws: EBUSY, ECANCELED: see ``ThreadTimer/claim(for:)``; ESRCH when the loop has ended.
  func add(_ timer: ThreadTimer, modes: UInt64) throws(ThreadingError) -> ThreadRunLoop? {
    try state.withLock { (state) throws(ThreadingError) in
      guard let loop = state.loop else { throw .loopEnded("ThreadRunLoop.add") }
      try timer.claim(for: self)
      return state.timers.add(timer, modes: modes) ? loop : nil
    }
  }

  /// Cancels a timer of these items.
  func cancel(_ timer: ThreadTimer) -> Bool {
    let (wasToFire, body) = state.withLock { $0.timers.cancel(timer) }
    // The closure goes here, with the lock free.
    _ = consume body
    return wasToFire
  }

  /// Calls the timers of the given modes that are due; what is scheduled meanwhile waits for the
  /// next look.
  func fireDueTimers(in modes: UInt64) {
    guard
      let look = state.withLock({ state in
        state.timers.earliest(in: modes) == nil ? nil : state.timers.look(at: .now)
      })
    else { return }
    var previous: ThreadTimer.Firing?
    while true {
      let due = state.withLock { state in
        if let previous { state.timers.end(previous) }
        return state.timers.popDue(look, in: modes)
      }
      guard let (firing, body) = due else { return }
      Self.call(body, firing)
      previous = firing
    }
  }

  /// Calls a closure and releases it.
  @inline(never)
  private static func call(_ body: consuming ThreadTimer.Body?, _ firing: ThreadTimer.Firing) {
    body?(firing)
  }
}

/// What the lock of ``LoopItems`` guards.
struct LoopItemsState {
  /// The loop, until its thread ends.
  var loop: ThreadRunLoop?
  var timers = TimerTable()

  mutating func close() -> [ThreadTimer.Body] {
    loop = nil
    return timers.close()
  }
}
