import Threading

extension TroubleChapter {
  static let solutions = [
    Solution("find the thread that burns the processor") { page in
      page.claim("of four, it is the one called hot", try busiest() == "hot")
    },
    Solution("how late is the loop?") { page in
      let lateness = try lateness(of: .milliseconds(40))
      page.claim("a block of 40 ms made it late by about as much", lateness >= .milliseconds(30))
      page.figure("late by", Figures.milliseconds(lateness))
    },
  ]

  /// The name of the thread of the process that has used the processor most.
  static func busiest() throws -> String? {
    let isOver = AtomicFlag()
    let isHot = AtomicFlag()
    let names = ["cold", "cool", "mild", "hot"]
    let threads = try names.map { name in
      try PosixThread.start(ThreadAttributes(name: name)) {
        if name == "hot" {
          let limit = MonotonicInstant.now.advanced(by: .seconds(3))
          while processorTime < .milliseconds(20), MonotonicInstant.now < limit {}
          _ = isHot.testAndSet()
        }
        isOver.wait()
      }
    }
    isHot.wait()
    let ids = Set(threads.map(\.handle.kernelID))
    let busiest = try ThreadSnapshot.all().filter { ids.contains($0.id) }
      .max { $0.processorTime < $1.processorTime }
    _ = isOver.testAndSet()
    for thread in threads { try thread.join() }
    return busiest?.name
  }

  /// How late the timer of a loop fires at worst when a block holds the loop up.
  static func lateness(of work: Duration) throws -> Duration {
    try LoopChapter.onLoop { loop in
      let worst = Locked(Duration.zero)
      let count = AtomicCounter()
      let timer = try ThreadTimer(every: .milliseconds(2)) { firing in
        let late = firing.scheduled.duration(to: .now)
        worst.withLock { $0 = max($0, late) }
        if count.increment() == 3 { loop.perform { LocksChapter.work(work) } }
        if count.value == 10 { firing.timer.cancel() }
      }
      try loop.add(timer)
      loop.run()
      return worst.withLock { $0 }
    }
  }
}
