import Threading

extension TroubleChapter {
  // snippet: dump
  /// A line for each of some threads: its name, whether it runs, and in which call of the kernel it sleeps.
  static func describe(_ threads: [ThreadHandle]) -> [String] {
    threads.map { thread in
      let id = thread.kernelID
      let isRunning = ProcFile.field(3, thread: id) == "R"
      let place = ProcFile.lines("/proc/self/task/\(id)/wchan").first ?? "0"
      let sleep = place == "0" ? "sleeps" : "sleeps in \(place)"
      return Figures.padded(thread.name ?? "?", to: 8) + (isRunning ? "runs" : sleep)
    }
  }
  // end

  static func dumpOfThree() throws -> (lines: [String], isRight: Bool) {
    let isOver = AtomicFlag()
    let waiter = try PosixThread.start(ThreadAttributes(name: "waiter")) { isOver.wait() }
    let sleeper = try PosixThread.start(ThreadAttributes(name: "sleeper")) {
      while !isOver.isSet { _ = isOver.wait(for: .seconds(10)) }
    }
    let worker = try PosixThread.start(ThreadAttributes(name: "worker")) {
      while !isOver.isSet {}
    }
    let handles = [waiter.handle, sleeper.handle, worker.handle]
    // The first two may still be on the way to their sleep.
    var lines = describe(handles)
    let limit = MonotonicInstant.now.advanced(by: .seconds(4))
    while !isRight(lines), MonotonicInstant.now < limit { lines = describe(handles) }
    _ = isOver.testAndSet()
    try waiter.join()
    try sleeper.join()
    try worker.join()
    return (lines, isRight(lines))
  }

  private static func isRight(_ lines: [String]) -> Bool {
    lines[0].contains("sleeps") && lines[1].contains("sleeps") && lines[2].contains("runs")
  }

  // snippet: time
  /// How long the calling thread has had a processor.
  static var processorTime: Duration {
    let file = "/proc/self/task/\(ThreadHandle.current.kernelID)/schedstat"
    let first = ProcFile.lines(file).first?.split(separator: " ").first
    return .nanoseconds(first.flatMap { Int64($0) } ?? 0)
  }
  // end

  static func processorTimes() throws -> (busy: Duration, sleepy: Duration) {
    let busy = try PosixThread.start {
      // The limit is for a kernel that does not tell.
      let limit = MonotonicInstant.now.advanced(by: .seconds(3))
      while processorTime < .milliseconds(10), MonotonicInstant.now < limit {}
      return processorTime
    }
    let sleepy = try PosixThread.start {
      _ = ResetEvent(.manual).wait(for: .milliseconds(10))
      return processorTime
    }
    return (try busy.join(), try sleepy.join())
  }
}
