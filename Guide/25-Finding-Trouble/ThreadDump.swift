import Threading

extension TroubleChapter {
  // snippet: dump
  /// A line for each of some threads: its name, what the kernel has it doing, and its processor time.
  static func describe(_ threads: [ThreadHandle]) -> [String] {
    threads.compactMap { ThreadSnapshot(id: $0.kernelID) }.map { thread in
      Figures.padded(thread.name ?? "?", to: 8) + Figures.padded("\(thread.activity)", to: 9)
        + Figures.milliseconds(thread.processorTime)
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
    lines[0].contains("sleeping") && lines[1].contains("sleeping") && lines[2].contains("running")
  }

  // snippet: time
  /// How long the calling thread has had a processor.
  static var processorTime: Duration { ThreadSnapshot.current?.processorTime ?? .zero }
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

  /// The calls of a thread that waits at an event, innermost first; nil if they cannot be had.
  static func callsOfWaiter() throws -> [ThreadDump.Frame]? {
    let isOver = ResetEvent(.manual)
    let waiter = try PosixThread.start(ThreadAttributes(name: "waiter")) { isOver.wait() }
    let limit = MonotonicInstant.now.advanced(by: .seconds(4))
    while ThreadSnapshot(id: waiter.handle.kernelID)?.activity != .sleeping,
      MonotonicInstant.now < limit
    {}
    // snippet: calls
    let dump = try ThreadDump.capture()
    let entry = dump.threads.first { $0.thread.name == "waiter" }
    // end
    isOver.set()
    try waiter.join()
    return entry?.gap == nil ? entry?.frames : nil
  }
}
