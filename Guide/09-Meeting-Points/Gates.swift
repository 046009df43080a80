import Threading

extension MeetingChapter {
  /// How many of eight threads were inside at the same time, at most.
  static func mostInside() throws -> Int {
    let inside = AtomicCounter()
    let most = Locked(0)
    let meeting = CyclicBarrier(2)
    // snippet: semaphore
    let permits = CountingSemaphore(2)
    let threads = try (0..<8).map { _ in
      try PosixThread.start {
        permits.withPermits {
          let now = inside.increment()
          most.withLock { $0 = max($0, now) }
          _ = meeting.wait()  // for the second who is let in
          inside.decrement()
        }
      }
    }
    // end
    for thread in threads { try thread.join() }
    return most.withLock { $0 }
  }

  /// The latch's count before each of three threads counted it down, and at the end.
  static func gateOpensLast() throws -> [Int] {
    // snippet: latch
    let allReady = CountdownLatch(3)
    var counts = [allReady.count]
    let waiter = try PosixThread.start {
      allReady.wait()
      return allReady.isOpen
    }
    for _ in 1...3 {
      try PosixThread.start { allReady.countDown() }.join()
      counts.append(allReady.count)
    }
    // end
    return try waiter.join() ? counts : []
  }

  /// How many came to each meeting, when one leaves after each.
  static func leaveOneByOne() throws -> [Int] {
    let meetings = Locked<[Int]>([])
    let came = AtomicCounter()
    // snippet: phaser
    let phaser = Phaser(3) { _ in
      let number = came.exchange(0)
      meetings.withLock { $0.append(number) }
    }
    let threads = try (1...3).map { rounds in
      try PosixThread.start {
        for round in 1...rounds {
          came.increment()
          if round < rounds { _ = phaser.arriveAndWait() } else { _ = phaser.arriveAndLeave() }
        }
      }
    }
    // end
    for thread in threads { try thread.join() }
    return meetings.withLock { $0 }
  }
}
