import Threading

extension OperationsChapter {
  static func serialQueue() throws -> [Int] {
    let order = Locked<[Int]>([])
    // snippet: serial
    let queue = ThreadOperationQueue(name: "one by one", width: 1)
    for number in 1...3 {
      try queue.add { order.withLock { $0.append(number) } }
    }
    queue.waitForAll()
    // end
    return order.withLock { $0 }
  }

  /// Whether the closures of a group run at the same time: they wait for each other.
  static func groupMeets() throws -> Bool {
    let pool = try ThreadPool(maximumThreads: 4)
    let meeting = CyclicBarrier(3)
    let met = AtomicCounter()
    // snippet: group
    let group = GroupOperation(name: "three")
    for _ in 1...3 {
      try group.add {
        if meeting.wait(for: .seconds(20)).isPassed { met.increment() }
      }
    }
    let queue = ThreadOperationQueue(name: "groups", width: 1, pool: pool)
    try queue.add(group)
    group.wait()
    // end
    pool.shutDown()
    return met.value == 3
  }

  // snippet: progress
  final class Copy: ThreadOperation, @unchecked Sendable {
    override func main() {
      progress.addTotal(4)
      for _ in 1...4 where !isCancelled {
        // copy a quarter
        progress.advance()
      }
    }
  }
  // end

  static func percentsOfCopy() throws -> [Int] {
    let percents = Locked<[Int]>([])
    // snippet: observe
    let copy = Copy(name: "copy")
    copy.progress.observe(on: nil) { counts in
      percents.withLock { $0.append(counts.percent) }
    }
    try ThreadOperationQueue(name: "copies").add(copy)
    copy.wait()
    // end
    return percents.withLock { $0 }
  }

  static func sumByOperation() throws -> Int {
    // snippet: result
    let sum = ResultOperation { (1...100).reduce(0, +) }
    try ThreadOperationQueue(name: "sums").add(sum)
    let value = try sum.value()  // waits
    // end
    return value
  }

  // snippet: invocation
  final class Parser: Sendable {
    func count(in text: String) throws -> Int {
      if text.isEmpty { throw ErrorsChapter.ReadingError.badLine(0) }
      return text.count
    }
  }

  static func invoke(_ text: String) throws -> Int {
    let invocation = InvocationOperation(Parser(), Parser.count, text)
    try invocation.start()
    return try invocation.value()
  }
  // end

  static func errorOfInvocation() throws -> Bool {
    do {
      _ = try invoke("")
      return false
    } catch is ErrorsChapter.ReadingError {
      return true
    }
  }
}
