import Threading

extension DeadlockChapter {
  /// Two threads take two locks in different orders, and meet with one each. With `lock()` in place of
  /// `lock(for:)` they would wait for each other for ever.
  ///
  /// - Returns: whether each got its second lock.
  static func embrace(_ story: Timeline) throws -> [Bool] {
    let left = FairMutex()
    let right = FairMutex()
    let bothHaveOne = CyclicBarrier(2)
    // snippet: embrace
    func take(
      _ first: FairMutex, then second: FairMutex, _ name: String
    ) throws -> PosixThread<Bool, Never> {
      try PosixThread.start {
        first.lock()
        defer { first.unlock() }
        story.add(name, "has its first lock")
        _ = bothHaveOne.wait()
        story.add(name, "wants the other")
        let hasBoth = second.lock(for: .milliseconds(50))
        story.add(name, hasBoth ? "has both" : "gives up")
        if hasBoth { second.unlock() }
        _ = bothHaveOne.wait()
        return hasBoth
      }
    }
    let one = try take(left, then: right, "one")
    let other = try take(right, then: left, "other")
    // end
    return [try one.join(), try other.join()]
  }

  static func waitAtMost(_ limit: Duration) throws -> (hadLock: Bool, waited: Duration) {
    let busy = Locked(0)
    let isHeld = CountdownLatch(1)
    let mayEnd = CountdownLatch(1)
    let holder = try PosixThread.start {
      busy.withLock { _ in
        isHeld.countDown()
        mayEnd.wait()
      }
    }
    isHeld.wait()
    let start = MonotonicInstant.now
    // snippet: timed
    let value = busy.withLock(for: limit) { $0 }
    // end
    let waited = start.duration(to: .now)
    mayEnd.countDown()
    try holder.join()
    return (value != nil, waited)
  }
}
