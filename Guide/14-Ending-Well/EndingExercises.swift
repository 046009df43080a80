import Threading

extension EndingChapter {
  static let solutions = [
    Solution("the first answer wins") { page in
      let answer = try firstOf([.seconds(3_600), .milliseconds(5), .seconds(3_600)])
      page.claim("the quickest of three answered", answer.first == 1)
      page.claim("and the two others were cancelled and have ended", answer.ended == 3)
    },
    Solution("a worker that pauses at each job, and can be ended at each") { page in
      let result = try workUntilCancelled(jobs: 1_000, after: 10)
      page.claim("it did whole jobs only", result.begun == result.finished)
      page.claim("and not all of them", result.finished < 1_000)
    },
  ]

  /// Asks several threads, each of which takes its time.
  ///
  /// - Returns: the number of the first to answer, and how many have ended.
  static func firstOf(_ times: [Duration]) throws -> (first: Int?, ended: Int) {
    let ended = AtomicCounter()
    let winner = Locked<Int?>(nil)
    try withThreads { scope in
      for (number, time) in times.enumerated() {
        try scope.start {
          defer { ended.increment() }
          do {
            try ThreadHandle.sleep(for: time)
          } catch {
            return  // another one was quicker
          }
          winner.withLock { $0 = $0 ?? number }
          scope.cancel(reason: "there is an answer")
        }
      }
    }
    return (winner.withLock { $0 }, ended.value)
  }

  static func workUntilCancelled(
    jobs: Int, after: Int
  ) throws -> (begun: Int, finished: Int) {
    let begun = AtomicCounter()
    let finished = AtomicCounter()
    let worker = try PosixThread.start { () throws(ThreadCancelled) in
      for _ in 0..<jobs {
        // Here it may end. Inside a job it does not look.
        try ThreadHandle.checkCancellation()
        begun.increment()
        LocksChapter.work(.microseconds(200))
        finished.increment()
      }
    }
    _ = finished.wait { $0 >= after }
    worker.cancel()
    _ = try worker.result()
    return (begun.value, finished.value)
  }
}
