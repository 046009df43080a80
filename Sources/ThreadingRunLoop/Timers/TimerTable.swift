internal import ThreadingPlatform

/// The timers of one loop. Guarded by the lock of its items, as are the variables of the timers.
struct TimerTable {
  /// A heap for each set of modes that timers were added for: few, and mostly one.
  private var heaps: [(modes: UInt64, timers: TimerHeap)] = []
  /// The number of the next timer to be scheduled.
  private var nextSequence: UInt64 = 0
  /// When timers were last looked at. What is scheduled for a moment before that comes after what
  /// was due then, so timers that are added ever anew cannot hold up the others.
  private var lastLook = MonotonicInstant(nanoseconds: .min)

  /// Adds a timer that was claimed.
  ///
  /// - Returns: whether it is the first of its modes.
  mutating func add(_ timer: ThreadTimer, modes: UInt64) -> Bool {
    timer.heapNumber = heapNumber(modes)
    return schedule(timer)
  }

  /// Ends a timer.
  ///
  /// - Returns: whether it would have fired, and its closure for release.
  mutating func cancel(_ timer: ThreadTimer) -> (wasToFire: Bool, body: ThreadTimer.Body?) {
    let before = timer.phase
    if timer.heapIndex >= 0 { heaps[timer.heapNumber].timers.remove(at: timer.heapIndex) }
    let wasToFire = before == .scheduled || (before == .firing && timer.repeats)
    return (wasToFire, Self.finish(timer))
  }

  /// Ends all timers.
  ///
  /// - Returns: their closures for release.
  mutating func close() -> [ThreadTimer.Body] {
    var bodies: [ThreadTimer.Body] = []
    for index in heaps.indices {
      while !heaps[index].timers.isEmpty {
        if let body = Self.finish(heaps[index].timers.popFirst()) { bodies.append(body) }
      }
    }
    heaps = []
    return bodies
  }

  /// When the first timer of the given modes fires.
  func earliest(in modes: UInt64) -> MonotonicInstant? {
    firstHeap(in: modes)?.moment
  }

  // MARK: Firing

  /// A look at what is due: timers that are scheduled later than it do not belong to it.
  struct Look {
    let now: MonotonicInstant
    let limit: UInt64
  }

  mutating func look(at now: MonotonicInstant) -> Look {
    lastLook = max(lastLook, now)
    return Look(now: now, limit: nextSequence)
  }

  /// Takes the first timer that was due at the look, for its closure to be called.
  mutating func popDue(
    _ look: Look, in modes: UInt64
  ) -> (firing: ThreadTimer.Firing, body: ThreadTimer.Body?)? {
    guard let first = firstHeap(in: modes), first.moment <= look.now, first.sequence < look.limit
    else { return nil }
    let timer = heaps[first.number].timers.popFirst()
    timer.phase = .firing
    let body = timer.body
    if !timer.repeats { timer.body = nil }
    return (Self.firing(timer, at: look.now), body)
  }

  /// The closure has been called: the timer is done, or scheduled anew.
  mutating func end(_ firing: ThreadTimer.Firing) {
    let timer = firing.timer
    guard timer.phase == .firing else { return }
    guard timer.repeats else {
      timer.phase = .finished
      return
    }
    timer.scheduled = next(after: firing)
    _ = schedule(timer)
  }

  private static func firing(
    _ timer: ThreadTimer, at now: MonotonicInstant
  ) -> ThreadTimer.Firing {
    var missed = 0
    if timer.intervalNanoseconds > 0, timer.scheduled < now {
      let (late, overflow) = now.nanoseconds.subtractingReportingOverflow(
        timer.scheduled.nanoseconds)
      missed = Int((overflow ? .max : late) / timer.intervalNanoseconds)
    }
    return ThreadTimer.Firing(timer: timer, scheduled: timer.scheduled, missed: missed)
  }

  /// The first moment of the grid after a firing and those that it skipped.
  private func next(after firing: ThreadTimer.Firing) -> MonotonicInstant {
    let interval = firing.timer.intervalNanoseconds
    guard interval > 0 else { return lastLook }
    let (ahead, first) = Int64(firing.missed).addingReportingOverflow(1)
    let (distance, second) = ahead.multipliedReportingOverflow(by: interval)
    let (next, third) = firing.scheduled.nanoseconds.addingReportingOverflow(distance)
    return first || second || third ? .distantFuture : MonotonicInstant(nanoseconds: next)
  }

  // MARK: -

  /// Puts a timer into its heap.
  ///
  /// - Returns: whether it is the first there.
  private mutating func schedule(_ timer: ThreadTimer) -> Bool {
    timer.phase = .scheduled
    let moment = Self.fireMoment(
      timer.scheduled.nanoseconds, tolerance: timer.toleranceNanoseconds)
    let sequence = nextSequence
    nextSequence += 1
    return heaps[timer.heapNumber].timers.insert(
      timer, at: max(MonotonicInstant(nanoseconds: moment), lastLook), sequence: sequence)
  }

  /// The moment from `earliest` to `earliest + tolerance` that lies on the coarsest grid of powers
  /// of two: timers with overlapping windows tend to meet there.
  static func fireMoment(_ earliest: Int64, tolerance: Int64) -> Int64 {
    guard tolerance > 0, earliest > 0, earliest < .max else { return earliest }
    let (sum, overflow) = earliest.addingReportingOverflow(tolerance)
    let latest = overflow ? .max - 1 : sum
    // The highest bit in which the two ends differ: above it nothing can change within the window.
    let shift = 63 - ((earliest - 1) ^ latest).leadingZeroBitCount
    return (latest >> Int64(shift)) << Int64(shift)
  }

  private static func finish(_ timer: ThreadTimer) -> ThreadTimer.Body? {
    timer.phase = .finished
    let body = timer.body
    timer.body = nil
    return body
  }

  private mutating func heapNumber(_ modes: UInt64) -> Int {
    if let known = heaps.firstIndex(where: { $0.modes == modes }) { return known }
    heaps.append((modes, TimerHeap()))
    return heaps.count - 1
  }

  /// The heap of the timer to fire first among those of the given modes.
  private func firstHeap(
    in modes: UInt64
  ) -> (number: Int, moment: MonotonicInstant, sequence: UInt64)? {
    var best: (number: Int, moment: MonotonicInstant, sequence: UInt64)?
    for index in heaps.indices where heaps[index].modes & modes != 0 {
      guard let first = heaps[index].timers.first else { continue }
      if let best, (best.moment, best.sequence) < (first.moment, first.sequence) { continue }
      best = (index, first.moment, first.sequence)
    }
    return best
  }
}
