import Threading

extension RaceChapter {
  /// Two threads take 80 each from an account of 100, where it must not get below zero.
  static func takeInTwoSteps() throws -> Int {
    let bothHaveLooked = CyclicBarrier(2)
    // snippet: twosteps
    let account = Locked(100)
    let taker: @Sendable () -> Void = {
      let isEnough = account.withLock { $0 >= 80 }
      _ = bothHaveLooked.wait()  // what may happen at any time happens here each time
      if isEnough { account.withLock { $0 -= 80 } }
    }
    // end
    let threads = [try PosixThread.start(body: taker), try PosixThread.start(body: taker)]
    for thread in threads { try thread.join() }
    return account.withLock { $0 }
  }

  static func takeInOneStep() throws -> Int {
    let account = Locked(100)
    let taker: @Sendable () -> Void = {
      // snippet: onestep
      account.withLock { balance in
        if balance >= 80 { balance -= 80 }
      }
      // end
    }
    let threads = [try PosixThread.start(body: taker), try PosixThread.start(body: taker)]
    for thread in threads { try thread.join() }
    return account.withLock { $0 }
  }
}
