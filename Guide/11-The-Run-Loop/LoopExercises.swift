import Threading

extension LoopChapter {
  static let solutions = [
    Solution("save when nothing has changed for a while") { page in
      let saves = try savesAfter(changes: 20)
      page.claim("20 changes in a row were saved once", saves == 1)
    },
    Solution("a stopwatch that can be stopped from another thread") { page in
      let ticks = try countTicksUntilStopped()
      page.claim("it ticked, and ended when it was told to", ticks >= 5)
    },
  ]

  /// Saves a document when it was left alone for 20 ms.
  static func savesAfter(changes: Int) throws -> Int {
    try onLoop { loop in
      let saves = AtomicCounter()
      let isSaved = ExitFlag()
      let timer = try ThreadTimer(after: .milliseconds(20)) { _ in
        saves.increment()
        isSaved.set()
      }
      try loop.add(timer)
      for _ in 0..<changes {
        // Each change puts the timer off again.
        loop.perform { timer.reschedule(at: .now.advanced(by: .milliseconds(20))) }
      }
      loop.run(until: isSaved)
      return saves.value
    }
  }

  static func countTicksUntilStopped() throws -> Int {
    let ticks = AtomicCounter()
    let worker = try LoopThread(name: "stopwatch")
    try worker.loop.add(ThreadTimer(every: .milliseconds(1)) { _ in ticks.increment() })
    _ = ticks.wait { $0 >= 5 }
    try worker.end()
    let atEnd = ticks.value
    _ = ResetEvent(.manual).wait(for: .milliseconds(10))
    return ticks.value == atEnd ? atEnd : 0
  }
}
