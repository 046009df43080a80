import Threading

extension GraphChapter {
  static func failInTheMiddle() throws -> (strict: String, loose: String) {
    // snippet: failure
    let load = ClosureOperation(name: "load") { throw ErrorsChapter.ReadingError.badLine(1) }
    let show = ClosureOperation(name: "show") {}
    let tidyUp = ClosureOperation(name: "tidy up") {}
    try show.addDependency(load, onFailure: .cancel)
    try tidyUp.addDependency(load)

    let queue = ThreadOperationQueue(name: "page")
    try queue.add(contentsOf: [load, show, tidyUp])
    queue.waitForAll()
    // end
    return (name(of: show.outcome), name(of: tidyUp.outcome))
  }

  private static func name(of outcome: ThreadOperation.Outcome?) -> String {
    switch outcome {
    case .completed: "completed"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case nil: "unfinished"
    }
  }

  static func priorities() throws -> [String] {
    let log = LoopChapter.Log()
    // snippet: priorities
    let queue = ThreadOperationQueue(name: "errands", width: 1)
    queue.suspend()
    for (name, priority) in [
      ("low", .low), ("normal 1", .normal), ("normal 2", .normal), ("urgent", .veryHigh),
    ] as [(String, ThreadOperation.Priority)] {
      try queue.add(ClosureOperation(name: name, priority: priority) { log.add(name) })
    }
    queue.resume()
    queue.waitForAll()
    // end
    return log.lines
  }

  static func barrier() throws -> [String] {
    let log = LoopChapter.Log()
    let readers = AtomicCounter()
    let read: @Sendable () -> Void = {
      readers.increment()
      log.add("reads")
      readers.decrement()
    }
    // snippet: barrier
    let queue = ThreadOperationQueue(name: "table", width: 4)
    for _ in 1...3 { try queue.add(read) }
    try queue.addBarrier { log.add(readers.value == 0 ? "write" : "write beside readers") }
    for _ in 1...3 { try queue.add(read) }
    queue.waitForAll()
    // end
    return log.lines.reduce(into: []) { lines, line in
      if lines.last != line { lines.append(line) }
    }
  }

  /// How many of three operations had run while the queue was suspended, and afterwards.
  static func suspended() throws -> [Int] {
    let count = AtomicCounter()
    // snippet: suspend
    let queue = ThreadOperationQueue(name: "held")
    queue.suspend()
    for _ in 1...3 { try queue.add { count.increment() } }
    let before = count.value
    queue.resume()
    queue.waitForAll()
    // end
    return [before, count.value]
  }

  /// How many of three operations had finished, and how many had run, when all were cancelled.
  static func cancelledAll() throws -> [Int] {
    let count = AtomicCounter()
    let finished = AtomicCounter()
    let queue = ThreadOperationQueue(name: "held")
    queue.suspend()
    for _ in 1...3 {
      let operation = ClosureOperation { count.increment() }
      operation.addCompletion { _ in finished.increment() }
      try queue.add(operation)
    }
    queue.cancelAll()
    queue.resume()
    queue.waitForAll()
    return [finished.value, count.value]
  }
}
