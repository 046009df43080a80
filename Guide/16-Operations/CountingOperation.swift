import Threading

extension OperationsChapter {
  // snippet: counting
  /// Counts from one number to another. What it needs comes through its initialiser.
  final class CountingOperation: ThreadOperation, @unchecked Sendable {
    private let range: ClosedRange<Int>
    // SAFETY: written by `main()`, read when the operation has finished.
    private(set) var numbers: [Int] = []
    private(set) var thread: String?

    init(from first: Int, to last: Int) {
      range = first...last
      super.init(name: "count from \(first) to \(last)")
    }

    override func main() {
      thread = ThreadHandle.current.name
      for number in range {
        if isCancelled { return }
        numbers.append(number)
        step()
      }
    }
    // end

    private let steps = AtomicCounter()

    private func step() { steps.increment() }

    /// Waits until it has counted a few numbers.
    func waitForSteps(_ count: Int) { _ = steps.wait { $0 >= count } }
  }

  struct ByHand {
    var numbers: [Int] = []
    var states: [ThreadOperation.State] = []
    var secondStart: ThreadOperationError.Reason?
  }

  static func countByHand() throws -> ByHand {
    var result = ByHand()
    // snippet: byhand
    let operation = CountingOperation(from: 3, to: 7)
    result.states.append(operation.state)
    operation.addCompletion { $0.name = "done" }
    try operation.start()  // returns when it has finished
    // end
    let watcher = WatchedOperation()
    try watcher.start()
    result.states.append(watcher.stateInMain)
    result.states.append(operation.state)
    result.numbers = operation.numbers
    do throws(ThreadOperationError) {
      try operation.start()
    } catch {
      result.secondStart = error.reason
    }
    return result
  }

  private final class WatchedOperation: ThreadOperation, @unchecked Sendable {
    private(set) var stateInMain = State.pending

    override func main() { stateInMain = state }
  }

  static func countOnQueue() throws -> (numbers: [Int], thread: String?) {
    // snippet: queue
    let queue = try ThreadOperationQueue(
      name: "counters", width: 1, attributes: ThreadAttributes(name: "counters"))
    let operation = CountingOperation(from: 3, to: 5)
    try queue.add(operation)
    operation.wait()
    // end
    return (operation.numbers, operation.thread)
  }

  static func countUntilCancelled() throws -> Int {
    let queue = ThreadOperationQueue(name: "counters")
    // snippet: cancel
    let operation = CountingOperation(from: 1, to: 1_000_000)
    try queue.add(operation)
    operation.waitForSteps(10)
    operation.cancel()
    operation.wait()
    // end
    return operation.numbers.count
  }
}
