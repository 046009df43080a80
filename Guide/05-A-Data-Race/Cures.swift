import Threading

extension RaceChapter {
  static func countLocked(to times: Int) throws -> (sum: Int, nanoseconds: Double) {
    // snippet: locked
    let sum = Locked(0)
    let duration = try onTwoThreads {
      for _ in 0..<times {
        sum.withLock { $0 += 1 }
      }
    }
    // end
    return (sum.withLock { $0 }, each(duration, of: times))
  }

  static func countAtomically(to times: Int) throws -> (sum: Int, nanoseconds: Double) {
    // snippet: atomic
    let sum = AtomicCounter()
    let duration = try onTwoThreads {
      for _ in 0..<times { sum.increment() }
    }
    // end
    return (sum.value, each(duration, of: times))
  }

  static func countApart(to times: Int) throws -> (sum: Int, nanoseconds: Double) {
    let sum = Locked(0)
    let duration = try onTwoThreads {
      // snippet: apart
      var mine = 0
      for _ in 0..<times { mine += 1 }
      sum.withLock { [mine] sum in sum += mine }
      // end
    }
    return (sum.withLock { $0 }, each(duration, of: times))
  }

  private static func onTwoThreads(_ body: @escaping @Sendable () -> Void) throws -> Duration {
    try Stopwatch.time {
      let threads = try (1...2).map { _ in try PosixThread.start(body: body) }
      for thread in threads { try thread.join() }
    }
  }

  private static func each(_ duration: Duration, of times: Int) -> Double {
    duration / .nanoseconds(1) / Double(times)
  }
}
