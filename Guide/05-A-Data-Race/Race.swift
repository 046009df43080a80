import Threading

extension RaceChapter {
  // snippet: race
  /// The compiler is told to trust us, and is deceived: nothing protects `value`.
  final class Tally: @unchecked Sendable {
    var value = 0

    @inline(never)
    func add() { value += 1 }
  }

  static func countTogether(to times: Int) throws -> Int {
    let tally = Tally()
    let start = CountdownLatch(2)
    let threads = try (1...2).map { _ in
      try PosixThread.start {
        start.countDownAndWait()
        for _ in 0..<times { tally.add() }
      }
    }
    for thread in threads { try thread.join() }
    return tally.value
  }
  // end

  /// The steps of an addition by two threads, put in the order in which one is lost.
  static func addInSlowMotion() throws -> Int {
    // snippet: slow
    let memory = Locked(0)
    let bothHaveRead = CyclicBarrier(2)
    let threads = try (1...2).map { _ in
      try PosixThread.start {
        let read = memory.withLock { $0 }
        _ = bothHaveRead.wait()
        memory.withLock { $0 = read + 1 }
      }
    }
    // end
    for thread in threads { try thread.join() }
    return memory.withLock { $0 }
  }
}
