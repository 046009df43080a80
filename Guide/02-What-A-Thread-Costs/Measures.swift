import Threading

extension CostChapter {
  /// Microseconds of a thread's start and join, of a job handed to a thread that waits for one and
  /// back, and of a function's call.
  static func startingTimes() throws -> (thread: Double, handOver: Double, call: Double) {
    let most = 200
    // snippet: time
    let threads = try Stopwatch.mean(of: most) {
      try PosixThread.start {}.join()
    }
    // end
    let job = ResetEvent(.automatic)
    let isDone = ResetEvent(.automatic)
    let isOver = AtomicFlag()
    let worker = try PosixThread.start {
      while true {
        job.wait()
        if isOver.isSet { return }
        isDone.set()
      }
    }
    let handOvers = Stopwatch.mean(of: most) {
      job.set()
      isDone.wait()
    }
    _ = isOver.testAndSet()
    job.set()
    try worker.join()
    let calls = Stopwatch.nanoseconds(perEachOf: 10_000) {
      for _ in 0..<10_000 { nothing() }
    }
    let one = Duration.microseconds(1)
    return (threads / one, handOvers / one, calls / 1_000)
  }

  @inline(never)
  private static func nothing() {}

  /// How far the process grows by threads that all live at the same time.
  static func memoryOfThreads(
    count: Int, stackSize: Int, show: (Int) -> Void
  ) throws -> (addresses: Int, resident: Int) {
    // The C library sets memory of its own aside for the first threads; that is not to be counted.
    _ = try growth(count: count, stackSize: 64 << 10) { _ in }
    return try growth(count: count, stackSize: stackSize, show: show)
  }

  private static func growth(
    count: Int, stackSize: Int, show: (Int) -> Void
  ) throws -> (addresses: Int, resident: Int) {
    let before = (ProcFile.bytes("VmSize"), ProcFile.bytes("VmRSS"))
    // snippet: memory
    let areThere = CountdownLatch(count)
    let mayEnd = CountdownLatch(1)
    let threads = try (1...count).map { number in
      show(number)
      return try PosixThread.start(ThreadAttributes(stackSize: stackSize)) {
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
