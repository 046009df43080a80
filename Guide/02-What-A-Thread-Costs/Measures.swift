import Threading

extension CostChapter {
  /// Microseconds of a thread's start and join, of a job handed to a thread that waits for one and
  /// back, and of a function's call.
  static func startingTimes() throws -> (thread: Double, handOver: Double, call: Double) {
    let count = 200
    // snippet: time
    let threads = try Stopwatch.time {
      for _ in 0..<count { try PosixThread.start {}.join() }
    }
    // end
    let job = ResetEvent(.automatic)
    let isDone = ResetEvent(.automatic)
    let worker = try PosixThread.start {
      for _ in 0..<count {
        job.wait()
        isDone.set()
      }
    }
    let handOvers = Stopwatch.time {
      for _ in 0..<count {
        job.set()
        isDone.wait()
      }
    }
    try worker.join()
    let calls = Stopwatch.nanoseconds(perEachOf: 10_000) {
      for _ in 0..<10_000 { nothing() }
    }
    let one = Duration.microseconds(count)
    return (threads / one, handOvers / one, calls / 1_000)
  }

  @inline(never)
  private static func nothing() {}

  /// How far the process grows by threads that all live at the same time.
  static func memoryOfThreads(
    count: Int, stackSize: Int
  ) throws -> (addresses: Int, resident: Int) {
    // The C library sets memory of its own aside for the first threads; that is not to be counted.
    _ = try growth(count: count, stackSize: 64 << 10)
    return try growth(count: count, stackSize: stackSize)
  }

  private static func growth(
    count: Int, stackSize: Int
  ) throws -> (addresses: Int, resident: Int) {
    let before = (ProcFile.bytes("VmSize"), ProcFile.bytes("VmRSS"))
    // snippet: memory
    let areThere = CountdownLatch(count)
    let mayEnd = CountdownLatch(1)
    let threads = try (0..<count).map { _ in
      try PosixThread.start(ThreadAttributes(stackSize: stackSize)) {
        areThere.countDown()
        mayEnd.wait()
      }
    }
    areThere.wait()
    // end
    let after = (ProcFile.bytes("VmSize"), ProcFile.bytes("VmRSS"))
    mayEnd.countDown()
    for thread in threads { try thread.join() }
    return (after.0 - before.0, after.1 - before.1)
  }
}
