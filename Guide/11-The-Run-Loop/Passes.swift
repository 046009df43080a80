import Threading

extension LoopChapter {
  /// Adds an observer to a loop that notes the points which the loop comes to.
  private static func observe(_ loop: ThreadRunLoop, _ log: Log) throws {
    // snippet: observer
    let observer = RunLoopObserver(for: .all) { _, activity in
      switch activity {
      case .entry: log.add("entry")
      case .beforeTimers: log.add("before timers")
      case .beforeSources: log.add("before sources")
      case .beforeWaiting: log.add("before waiting")
      case .afterWaiting: log.add("after waiting")
      default: log.add("exit")
      }
    }
    try loop.add(observer)
    // end
  }

  /// What happens in one pass that has everything to do at once.
  static func onePass(_ loop: ThreadRunLoop) throws -> [String] {
    let log = Log()
    try observe(loop, log)
    // snippet: pass
    try loop.add(ThreadTimer(after: .zero) { _ in log.add("timer") })
    let source = CustomInputSource { _ in log.add("source") }
    try loop.add(source)
    source.signal()
    loop.perform { log.add("block") }
    loop.run(until: .now)
    // end
    return log.lines
  }

  /// What happens when there is nothing to do yet.
  static func sleepyPass(_ loop: ThreadRunLoop) throws -> [String] {
    let log = Log()
    try observe(loop, log)
    // Far enough away for a busy machine: with a timer that is due there is no sleep to tell of.
    try loop.add(ThreadTimer(after: .milliseconds(200)) { _ in log.add("timer") })
    loop.run()
    return log.lines
  }

  static func reasons(_ loop: ThreadRunLoop) throws -> [ThreadRunLoop.ExitReason] {
    // snippet: reasons
    let nothingToWaitFor = loop.run()

    let timer = try ThreadTimer(every: .milliseconds(1)) { _ in }
    try loop.add(timer)
    loop.perform { loop.stop() }
    let stopped = loop.run()
    let timedOut = loop.run(for: .milliseconds(5))

    loop.perform {}
    let handledSource = loop.run(mode: .default)

    let isOver = ExitFlag()
    loop.perform { isOver.set() }
    let flagSet = loop.run(until: isOver)
    // end
    return [nothingToWaitFor, stopped, timedOut, handledSource, flagSet]
  }

  static func modes(_ loop: ThreadRunLoop) throws -> [String] {
    let log = Log()
    // snippet: modes
    let resizing = ThreadRunLoop.Mode("resizing")
    loop.perform(in: [resizing]) { log.add("resizing") }
    loop.perform { log.add("default") }
    loop.run()
    loop.run(mode: resizing)
    // end
    return log.lines
  }

  static func idle(_ loop: ThreadRunLoop) throws -> [String] {
    let log = Log()
    // snippet: idle
    for number in 1...10 {
      loop.performWhenIdle(key: "redraw") { log.add("idle \(number)") }
    }
    loop.perform { log.add("block") }
    loop.run()
    // end
    return log.lines
  }

  /// Lines that any thread may add to.
  final class Log: Sendable {
    private let text = Locked<[String]>([])

    var lines: [String] { text.withLock { $0 } }

    func add(_ line: String) { text.withLock { $0.append(line) } }
  }
}
