import Threading

extension LoopChapter {
  struct Ticks: Sendable {
    var areOnGrid = true
    var missed = 0
    var latest = Duration.zero
  }

  /// Lets a timer fire ten times, and keeps the loop busy during the third.
  static func ticks(_ loop: ThreadRunLoop) throws -> Ticks {
    let ticks = Locked(Ticks())
    let count = AtomicCounter()
    let interval = Duration.milliseconds(5)
    let first = MonotonicInstant.now.advanced(by: interval)
    // snippet: timer
    let timer = try ThreadTimer(every: interval, startingAt: first) { firing in
      let now = MonotonicInstant.now
      ticks.withLock { $0.note(firing, first: first, interval: interval, now: now) }
      let number = count.increment()
      if number == 3 { LocksChapter.work(.milliseconds(30)) }
      if number == 10 { firing.timer.cancel() }
    }
    try loop.add(timer)
    loop.run()
    // end
    return ticks.withLock { $0 }
  }
}

extension LoopChapter.Ticks {
  fileprivate mutating func note(
    _ firing: ThreadTimer.Firing, first: MonotonicInstant, interval: Duration, now: MonotonicInstant
  ) {
    let steps = first.duration(to: firing.scheduled) / interval
    if steps != steps.rounded() || now < firing.scheduled { areOnGrid = false }
    missed += firing.missed
    latest = max(latest, firing.scheduled.duration(to: now))
  }
}
