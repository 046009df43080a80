internal import ThreadingPlatform

/// Wakes a loop for the timers of a clock other than the monotonic one: when the first of them is
/// due, and when the time of day was set.
final class AlarmSource: InputSource, @unchecked Sendable {
  private let clock: TimerClock
  private let alarm: any ClockAlarm
  // SAFETY of @unchecked: guarded by the lock of the owner's items.
  /// What the alarm is set to; nil for never.
  private var setting: Int64?
  /// Whether the alarm has to be set, whatever the setting.
  private var hasRung = false

  init(_ clock: TimerClock, _ alarm: any ClockAlarm) {
    self.clock = clock
    self.alarm = alarm
    super.init()
  }

  /// Sets the alarm to a moment, nil for never. A system call if it is another one than before.
  func set(to moment: Int64?) {
    guard hasRung || moment != setting else { return }
    hasRung = false
    setting = moment
    alarm.set(to: moment)
  }

  override var registration: Registration? {
    Registration(descriptor: alarm.descriptor, events: .readable, trigger: .level)
  }

  override var keepsRunGoing: Bool { false }

  override func job(for events: Poller.Events) -> SourceJob? {
    // With the lock held: before the timers are looked at once more.
    alarm.clear()
    hasRung = true
    return nil
  }
}

extension LoopItemsState {
  /// Sees to it that the loop can be woken for timers of a clock.
  ///
  /// - Throws: EMFILE or ENFILE when descriptors have run out, ENOMEM.
  mutating func prepareAlarm(on clock: TimerClock, for items: LoopItems) throws(ThreadingError) {
    guard alarms[clock] == nil else { return }
    let source = AlarmSource(clock, try timers.clocks.makeAlarm(on: clock))
    try sources.add(source, modes: .max) { () throws(ThreadingError) in
      try source.owner.claim(for: items)
    }
    alarms[clock] = source
  }

  /// Sets the alarms to the first timers of the modes that the loop is about to sleep in.
  mutating func setAlarms(for modes: UInt64) {
    for clock in [TimerClock.boot, .wall] {
      alarms[clock]?.set(to: timers.earliest(in: modes, on: clock))
    }
  }

  /// Whether timers of other clocks than the monotonic one were added.
  var hasAlarms: Bool { alarms[.boot] != nil || alarms[.wall] != nil }
}
