import Threading

extension EndingChapter {
  static func countUntilCancelled() throws -> (count: Int, reason: String?) {
    let count = AtomicCounter()
    // snippet: cancel
    let worker = try PosixThread.start { () throws(ThreadCancelled) in
      while true {
        count.increment()
        try ThreadHandle.checkCancellation()
      }
    }
    // end
    _ = count.wait { $0 > 1_000 }
    // snippet: ask
    worker.cancel(reason: "no longer needed")
    let ending = try worker.result()
    // end
    guard case .failure(let cancelled) = ending else { return (count.value, nil) }
    return (count.value, cancelled.reason)
  }

  static func sleepIsCut() throws -> Bool {
    // snippet: sleep
    let sleeper = try PosixThread.start { () throws(ThreadCancelled) in
      try ThreadHandle.sleep(for: .seconds(3_600))
    }
    sleeper.cancel()
    // end
    if case .failure? = try sleeper.result(until: .now.advanced(by: .seconds(10))) { return true }
    return false
  }

  static func eventWaitIsCut() throws -> Bool {
    let hasJob = ResetEvent(.automatic)
    // snippet: unless
    let waiter = try PosixThread.start { () throws(ThreadCancelled) in
      try hasJob.waitUnlessCancelled()
    }
    waiter.cancel()
    // end
    if case .failure? = try waiter.result(until: .now.advanced(by: .seconds(10))) { return true }
    return false
  }

  static func waitIsCut() throws -> Bool {
    let hasJob = ResetEvent(.automatic)
    // snippet: handler
    let waiter = try PosixThread.start {
      ThreadHandle.withCancellationHandler({ hasJob.set() }) {
        hasJob.wait()
        return !ThreadHandle.current.isCancelled
      }
    }
    waiter.cancel()
    let hasWork = try waiter.join()
    // end
    return !hasWork
  }

  static func hooksAtEnd() throws -> [String] {
    let done = Locked<[String]>([])
    // snippet: hooks
    let worker = try PosixThread.start {
      ThreadHandle.current.atEnd { done.withLock { $0.append("network") } }
      ThreadHandle.current.atEnd { done.withLock { $0.append("files") } }
    }
    try worker.join()
    // end
    return done.withLock { $0 }
  }
}
