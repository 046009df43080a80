internal import ThreadingPlatform

/// The timers of one loop. Guarded by the lock of its items, as are the variables of the timers.
struct TimerTable {
  /// A heap for each set of modes and clock that timers were added for: few, and mostly one.
  private var heaps: [Heap] = []

  private struct Heap {
    let modes: UInt64
    let clock: TimerClock
    var timers = TimerHeap()
    /// Those that are paused; none of them is in the heap.
    var paused: [ObjectIdentifier: ThreadTimer] = [:]
  }

  /// The number of the next timer to be scheduled.
  private var nextSequence: UInt64 = 0
  /// When the timers of each clock were last looked at. What is scheduled for a moment before that
  /// comes after what was due then, so timers that are added ever anew cannot hold up the others.
  private var lastLooks = PerClock(Int64.min)

  /// Where the clocks are read.
  var clocks: any TimerClocks = SystemClocks()

  /// Adds a timer that was claimed.
  ///
  /// - Returns: whether it is the first of its modes.
  mutating func add(_ timer: ThreadTimer, modes: UInt64) -> Bool {
    timer.heapNumber = Int32(heapNumber(modes, timer.clock))
    return schedule(timer)
  }

  /// Ends a timer.
  ///
  /// - Returns: whether it would have fired, and its closure for release.
  mutating func cancel(_ timer: ThreadTimer) -> Cancelled {
    let wasToFire = timer.phase == .scheduled || (timer.phase == .firing && timer.willFireAgain)
    if timer.heapSlot >= 0 { heaps[Int(timer.heapNumber)].timers.remove(slot: timer.heapSlot) }
    if timer.isPaused { setPaused(timer, false) }
    return Cancelled(wasToFire: wasToFire, callback: finish(timer))
  }

  struct Cancelled {
    let wasToFire: Bool
    let callback: ThreadTimer.Callback?
  }

  /// Sets a timer to another moment, and interval unless nil.
  ///
  /// - Returns: nil if it is done; else whether it is now the first of its modes.
  mutating func reschedule(
    _ timer: ThreadTimer, at moment: ThreadTimer.NewMoment, interval: Int64?
  ) -> Bool? {
    guard timer.phase != .finished else { return nil }
    if let interval { timer.intervalNanoseconds = interval }
    switch moment {
    case .onItsClock(let nanoseconds): timer.scheduled = nanoseconds
    case .fromNow(let duration):
      let now = TimerMoment(nanoseconds: clocks.nanoseconds(of: timer.clock), on: timer.clock)
      timer.scheduled = now.advanced(by: duration).nanoseconds
    }
    if timer.phase == .firing {
      timer.isRescheduled = true
      return false
    }
    if timer.heapSlot >= 0 { heaps[Int(timer.heapNumber)].timers.remove(slot: timer.heapSlot) }
    return schedule(timer)
  }

  /// Pauses a timer.
  ///
  /// - Returns: false if it is done.
  mutating func pause(_ timer: ThreadTimer) -> Bool {
    guard timer.phase != .finished else { return false }
    if timer.isPaused { return true }
    setPaused(timer, true)
    if timer.heapSlot >= 0 { heaps[Int(timer.heapNumber)].timers.remove(slot: timer.heapSlot) }
    return true
  }

  /// Ends the pause of a timer.
  ///
  /// - Returns: nil if it is done; else whether it is now the first of its modes.
  mutating func resume(_ timer: ThreadTimer) -> Bool? {
    guard timer.phase != .finished else { return nil }
    guard timer.isPaused else { return false }
    setPaused(timer, false)
    return timer.phase == .scheduled ? schedule(timer) : false
  }

  private mutating func setPaused(_ timer: ThreadTimer, _ isPaused: Bool) {
    timer.isPaused = isPaused
    heaps[Int(timer.heapNumber)].paused[ObjectIdentifier(timer)] = isPaused ? timer : nil
  }

  /// Whether there is any timer of the given modes, paused or not.
  func hasTimers(in modes: UInt64) -> Bool {
    heaps.contains { $0.modes & modes != 0 && (!$0.paused.isEmpty || !$0.timers.isEmpty) }
  }

  /// Ends all timers.
  ///
  /// - Returns: their closures for release.
  mutating func close() -> [ThreadTimer.Callback] {
    var callbacks: [ThreadTimer.Callback] = []
    for index in heaps.indices {
      while !heaps[index].timers.isEmpty {
        if let callback = finish(heaps[index].timers.popFirst()) { callbacks.append(callback) }
      }
      for timer in heaps[index].paused.values {
        // Its place goes as well: a cancel that comes later has none to take it from.
        timer.isPaused = false
        if let callback = finish(timer) { callbacks.append(callback) }
      }
    }
    heaps = []
    return callbacks
  }

  /// Whether other timers are there for each of the modes of a timer that has gone, so that no run in
  /// one of them has lost its last.
  func hasOthers(than timer: ThreadTimer) -> Bool {
    let modes = heaps[Int(timer.heapNumber)].modes
    var covered: UInt64 = 0
    for heap in heaps where !heap.timers.isEmpty || !heap.paused.isEmpty { covered |= heap.modes }
    return covered & modes == modes
  }

  /// When the first timer of the given modes fires, in nanoseconds of the clock.
  func earliest(in modes: UInt64, on clock: TimerClock) -> Int64? {
    firstHeap(in: modes, on: clock)?.moment
  }

  /// Whether a timer of another clock than the monotonic one is due.
  func hasDueAlarm(in modes: UInt64) -> Bool {
    TimerClock.allCases.contains { clock in
      guard clock != .monotonic, let moment = earliest(in: modes, on: clock) else { return false }
      return moment <= clocks.nanoseconds(of: clock)
    }
  }

  /// When the first timer of the given modes fires, whatever its clock, as far as that can be told.
  func earliestOfAll(in modes: UInt64) -> MonotonicInstant? {
    TimerClock.allCases.compactMap { clock in
      earliest(in: modes, on: clock).map { monotonic($0, on: clock) }
    }.min()
  }

  /// A moment of a clock on the monotonic one, by what both show at present.
  private func monotonic(_ nanoseconds: Int64, on clock: TimerClock) -> MonotonicInstant {
    if clock == .monotonic || nanoseconds == .max {
      return MonotonicInstant(nanoseconds: nanoseconds)
    }
    let distance = Int128(nanoseconds) - Int128(clocks.nanoseconds(of: clock))
    let now = Int128(clocks.nanoseconds(of: .monotonic))
    return MonotonicInstant(nanoseconds: Int64(clamping: now + distance))
  }

  // MARK: Firing

  /// A look at what is due: timers that are scheduled later than it do not belong to it.
  struct Look {
    let clock: TimerClock
    let now: Int64
    let limit: UInt64
  }

  /// Looks at a clock.
  ///
  /// - Returns: nil when no timer of the modes goes by it.
  mutating func look(at clock: TimerClock, in modes: UInt64) -> Look? {
    guard firstHeap(in: modes, on: clock) != nil else { return nil }
    let now = clocks.nanoseconds(of: clock)
    // The time of day may have been set back.
    lastLooks[clock] = clock == .wall ? now : max(lastLooks[clock], now)
    for index in heaps.indices
    where heaps[index].clock == clock && heaps[index].modes & modes != 0 {
      heaps[index].timers.gather(until: now)
    }
    return Look(clock: clock, now: now, limit: nextSequence)
  }

  /// A call of a timer's closure that is to be made.
  struct Due {
    let firing: ThreadTimer.Firing
    let callback: ThreadTimer.Callback?
  }

  /// Takes the first timer that was due at the look, for its closure to be called.
  mutating func popDue(_ look: Look, in modes: UInt64) -> Due? {
    guard let first = firstHeap(in: modes, on: look.clock), first.moment <= look.now,
      first.sequence < look.limit
    else { return nil }
    let timer = heaps[first.number].timers.popFirst()
    timer.phase = .firing
    timer.isInCall = true
    let callback = timer.callback
    timer.callback = nil
    return Due(firing: firing(timer, at: look.now), callback: callback)
  }

  /// The closure has been called: the timer is done, or scheduled anew. The caller releases what it
  /// has of the closure.
  mutating func end(_ due: borrowing Due) {
    let timer = due.firing.timer
    timer.noteEnd()
    guard timer.phase == .firing else { return }
    if timer.isRescheduled {
      timer.isRescheduled = false
    } else if timer.repeats {
      timer.scheduled = next(after: due.firing)
    } else {
      timer.phase = .finished
      // Paused while it fired for the last time: nothing is left to be resumed.
      if timer.isPaused { setPaused(timer, false) }
      return
    }
    timer.callback = due.callback
    _ = schedule(timer)
  }

  private func firing(_ timer: ThreadTimer, at now: Int64) -> ThreadTimer.Firing {
    var missed = 0
    if timer.missedPolicy == .skip, timer.intervalNanoseconds > 0, timer.scheduled < now {
      // Up to twice what fits into 63 bits, if the grid begins before the clock's zero.
      let late = UInt64(bitPattern: now &- timer.scheduled)
      missed = Int(clamping: late / UInt64(timer.intervalNanoseconds))
    }
    return ThreadTimer.Firing(
      timer: timer, scheduled: monotonic(timer.scheduled, on: timer.clock),
      moment: TimerMoment(nanoseconds: timer.scheduled, on: timer.clock), missed: missed)
  }

  /// The first moment of the grid after a firing and those that it skipped.
  private func next(after firing: ThreadTimer.Firing) -> Int64 {
    let timer = firing.timer
    let interval = timer.intervalNanoseconds
    guard interval > 0 else { return lastLooks[timer.clock] }
    if timer.missedPolicy == .delay {
      return Int64(clamping: Int128(clocks.nanoseconds(of: timer.clock)) + Int128(interval))
    }
    let next = Int128(firing.moment.nanoseconds) + (Int128(firing.missed) + 1) * Int128(interval)
    return Int64(clamping: next)
  }

  // MARK: -

  /// Puts a timer into its heap.
  ///
  /// - Returns: whether it is the first there.
  private mutating func schedule(_ timer: ThreadTimer) -> Bool {
    timer.phase = .scheduled
    if timer.isPaused { return false }
    let moment = Self.fireMoment(timer.scheduled, tolerance: timer.toleranceNanoseconds)
    let sequence = nextSequence
    nextSequence += 1
    if timer.clock == .wall {
      // The time of day may have been set back since.
      lastLooks[.wall] = min(lastLooks[.wall], clocks.nanoseconds(of: .wall))
    }
    return heaps[Int(timer.heapNumber)].timers.insert(
      timer, at: max(moment, lastLooks[timer.clock]), sequence: sequence)
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

  private mutating func finish(_ timer: ThreadTimer) -> ThreadTimer.Callback? {
    timer.phase = .finished
    let callback = timer.callback
    timer.callback = nil
    return callback
  }

  private mutating func heapNumber(_ modes: UInt64, _ clock: TimerClock) -> Int {
    for index in heaps.indices where heaps[index].modes == modes && heaps[index].clock == clock {
      return index
    }
    heaps.append(Heap(modes: modes, clock: clock))
    return heaps.count - 1
  }

  /// The heap of the timer to fire first among those of the given modes and clock.
  private func firstHeap(
    in modes: UInt64, on clock: TimerClock
  ) -> (number: Int, moment: Int64, sequence: UInt64)? {
    var best: (number: Int, moment: Int64, sequence: UInt64)?
    for index in heaps.indices
    where heaps[index].clock == clock && heaps[index].modes & modes != 0 {
      guard let first = heaps[index].timers.first else { continue }
      if let best, (best.moment, best.sequence) < (first.moment, first.sequence) { continue }
      best = (index, first.moment, first.sequence)
    }
    return best
  }
}

/// A value for each clock.
struct PerClock<Value: Sendable>: Sendable {
  private var monotonic: Value
  private var boot: Value
  private var wall: Value

  init(_ value: Value) {
    monotonic = value
    boot = value
    wall = value
  }

  init(_ value: (TimerClock) -> Value) {
    monotonic = value(.monotonic)
    boot = value(.boot)
    wall = value(.wall)
  }

  subscript(clock: TimerClock) -> Value {
    get {
      switch clock {
      case .monotonic: monotonic
      case .boot: boot
      case .wall: wall
      }
    }
    set {
      switch clock {
      case .monotonic: monotonic = newValue
      case .boot: boot = newValue
      case .wall: wall = newValue
      }
    }
  }
}
