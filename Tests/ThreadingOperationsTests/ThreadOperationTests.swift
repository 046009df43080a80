import Synchronization
import TestSupport
import Testing
import Threading

/// The designated-initialiser pattern: the parameters go in at the making, the result is read after.
private final class Counting: ThreadOperation, @unchecked Sendable {
  private let start: Int
  private let end: Int
  private let step: @Sendable (Int) -> Void
  private(set) var reached: Int?

  init(from start: Int, to end: Int, step: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.start = start
    self.end = end
    self.step = step
    super.init()
  }

  override func main() {
    for number in start...end {
      if isCancelled { return }
      step(number)
      reached = number
    }
  }
}

@Suite("ThreadOperation", .endsInTime)
struct ThreadOperationTests {
  @Test("Started by hand, it runs on the caller's thread and has finished when start() returns")
  func byHand() throws {
    let ranOn = Atomic<UInt32>(0)
    let operation = ClosureOperation {
      ranOn.store(ThreadHandle.current.kernelID, ordering: .relaxed)
    }
    #expect(operation.state == .pending)
    #expect(operation.isReady)
    try operation.start()
    #expect(ranOn.load(ordering: .relaxed) == ThreadHandle.current.kernelID)
    #expect(operation.state == .finished)
    #expect(!operation.isReady)
    guard case .completed = operation.outcome else {
      Issue.record("\(operation.outcome as Any)")
      return
    }
  }

  @Test("A subclass counts from start to end, by hand and on a queue, with the same result")
  func subclass() throws {
    let first = Counting(from: 3, to: 10)
    try first.start()
    let second = Counting(from: 3, to: 10)
    try ThreadOperationQueue().add(second)
    second.wait()
    #expect(first.reached == 10)
    #expect(second.reached == 10)
  }

  @Test("A subclass that looks at isCancelled in its loop stops in the middle")
  func cancelledInLoop() throws {
    let gate = Gate()
    let inside = Gate()
    let counting = Counting(from: 1, to: .max) { number in
      if number == 100 {
        inside.open()
        gate.pass()
      }
    }
    let queue = ThreadOperationQueue(width: 1)
    try queue.add(counting)
    inside.pass()
    counting.cancel()
    gate.open()
    counting.wait()
    #expect(counting.reached == 100)
    #expect(counting.isCancelled)
    guard case .completed = counting.outcome else {
      Issue.record("\(counting.outcome as Any)")
      return
    }
  }

  @Test("An operation cancelled before its start finishes without running, by hand and on a queue")
  func cancelledBefore() throws {
    let runs = Atomic<Int>(0)
    let byHand = ClosureOperation { runs.wrappingAdd(1, ordering: .relaxed) }
    let onQueue = ClosureOperation { runs.wrappingAdd(1, ordering: .relaxed) }
    for operation in [byHand, onQueue] { operation.cancel() }
    try byHand.start()
    try ThreadOperationQueue().add(onQueue)
    onQueue.wait()
    for operation in [byHand, onQueue] {
      #expect(operation.isFinished)
      guard case .cancelled = operation.outcome else {
        Issue.record("\(operation.outcome as Any)")
        continue
      }
    }
    #expect(runs.load(ordering: .relaxed) == 0)
  }

  @Test("What main() throws is the outcome, and goes no further")
  func throwing() throws {
    let operation = ClosureOperation { throw Oops(code: 7) }
    try operation.start()
    #expect(operation.error as? Oops == Oops(code: 7))
    let queue = ThreadOperationQueue(width: 1)
    let failing = try queue.add { throw Oops(code: 8) }
    let after = try queue.add {}
    after.wait()
    #expect(failing.error as? Oops == Oops(code: 8))
    #expect(after.error == nil)
  }

  @Test("Starting twice, and adding what was started, is refused with name and state")
  func runsOnce() throws {
    let operation = ClosureOperation(name: "once") {}
    try operation.start()
    let error = #expect(throws: ThreadOperationError.self) { try operation.start() }
    #expect(error?.reason == .alreadyUsed)
    #expect(error?.operation == "once")
    #expect(error?.state == .finished)
    #expect(error?.description.contains("once") == true)
    let queue = ThreadOperationQueue()
    let second = #expect(throws: ThreadOperationError.self) { try queue.add(operation) }
    #expect(second?.reason == .alreadyUsed)
    #expect(queue.operationCount == 0)
    let usable = try queue.add {}
    usable.wait()
  }

  @Test("An operation twice in one batch is refused, and nothing of the batch has changed")
  func twiceInBatch() throws {
    let queue = ThreadOperationQueue()
    let twin = ClosureOperation(name: "twin") {}
    let other = ClosureOperation {}
    let error = #expect(throws: ThreadOperationError.self) {
      try queue.add(contentsOf: [other, twin, twin])
    }
    #expect(error?.reason == .alreadyUsed)
    #expect(error?.operation == "twin")
    #expect(queue.operationCount == 0)
    #expect(twin.state == .pending)
    try queue.add(contentsOf: [other, twin])
    queue.waitForAll()
    #expect(twin.isFinished && other.isFinished)
  }

  @Test("Started by hand with unfinished dependencies, it is refused and names them")
  func unmet() throws {
    let first = ClosureOperation(name: "first") {}
    let second = ClosureOperation(name: "second") {}
    try second.addDependency(first)
    #expect(!second.isReady)
    let error = #expect(throws: ThreadOperationError.self) { try second.start() }
    #expect(error?.reason == .unfinishedDependencies)
    #expect(error?.description.contains("first") == true)
    #expect(second.state == .pending)
    try first.start()
    #expect(second.isReady)
    try second.start()
    #expect(second.isFinished)
  }

  @Test("The current operation and queue are told inside, and nothing outside or by hand")
  func current() throws {
    #expect(ThreadOperation.current == nil)
    #expect(ThreadOperationQueue.current == nil)
    let queue = ThreadOperationQueue(name: "mine")
    let seen = Locked<(ThreadOperation?, String?, Bool, ThreadOperation?)>((nil, nil, false, nil))
    let operation = try queue.add {
      let queueInside = ThreadOperationQueue.current
      let outer = ThreadOperation.current
      let inner = ClosureOperation {
        let isNone = ThreadOperationQueue.current == nil
        let innermost = ThreadOperation.current
        seen.withLock {
          $0.2 = isNone
          $0.3 = innermost
        }
      }
      try inner.start()
      let isInner = seen.withLock { $0.3 === inner }
      #expect(isInner)
      #expect(ThreadOperation.current === outer)
      seen.withLock { $0 = (outer, queueInside?.name, $0.2, nil) }
    }
    operation.wait()
    #expect(operation.error == nil)
    #expect(seen.withLock { $0.0 } === operation)
    #expect(seen.withLock { $0.1 } == "mine")
    #expect(seen.withLock { $0.2 })
    #expect(ThreadOperation.current == nil)
  }

  @Test("A wait with a time limit tells whether the operation has finished")
  func timedWait() throws {
    let open = Open()
    try open.start()
    #expect(!open.wait(for: .milliseconds(5)))
    #expect(!open.wait(until: .now))
    open.finish()
    #expect(open.wait(until: .now))
    #expect(open.wait(for: .zero))
  }

  @Test("Many threads may wait for one operation")
  func manyWaiters() throws {
    let open = Open()
    try open.start()
    let woken = Atomic<Int>(0)
    var joins: [() -> Void] = []
    for _ in 0..<4 {
      joins.append(
        try inBackground {
          open.wait()
          woken.wrappingAdd(1, ordering: .relaxed)
        })
    }
    open.finish()
    for join in joins { join() }
    #expect(woken.load(ordering: .relaxed) == 4)
  }

  @Test("Waiting inside an operation for itself stops the program")
  func waitsForItself() async {
    await #expect(processExitsWith: .failure) {
      let operation = ClosureOperation { ThreadOperation.current?.wait() }
      try operation.start()
    }
    await #expect(processExitsWith: .failure) {
      let queue = ThreadOperationQueue()
      let operation = try queue.add { queue.waitForAll() }
      Waiting.uninterrupted(for: operation)
    }
  }

  @Test("Names, types and states are in the description")
  func describing() throws {
    let operation = ClosureOperation(name: "draw") {}
    #expect("\(operation)" == "ClosureOperation \"draw\" (pending)")
    operation.cancel()
    #expect("\(operation)" == "ClosureOperation \"draw\" (pending, cancelled)")
    operation.name = "paint"
    #expect(operation.name == "paint")
    let plain = ClosureOperation {}
    try plain.start()
    #expect("\(plain)" == "ClosureOperation (finished)")
  }
}

@Suite("Asynchronous operations", .endsInTime)
struct AsynchronousOperationTests {
  @Test("It is executing without a thread until finish() is called, by whatever thread")
  func onItsOwn() throws {
    let open = Open()
    let queue = ThreadOperationQueue(width: 1)
    try queue.add(open)
    let next = try queue.add {}
    open.begun.pass()
    #expect(!next.wait(for: .milliseconds(20)))
    #expect(open.isExecuting)
    // Whoever looks for what was never finished can tell it from what is at work.
    #expect(eventually { open.isExecutingWithoutThread })
    #expect("\(open)".contains("executing without a thread"))
    #expect(!next.isExecutingWithoutThread)
    #expect(
      queue.operations.filter(\.isExecutingWithoutThread).map(ObjectIdentifier.init) == [
        ObjectIdentifier(open)
      ])
    try concurrently(1) { _ in #expect(open.finish()) }
    next.wait()
    #expect(!open.isExecutingWithoutThread)
    #expect(open.isFinished)
    #expect(!open.finish())
  }

  @Test("It may finish inside main(), and finishing twice ends it once")
  func finishInside() throws {
    final class Early: ThreadOperation, @unchecked Sendable {
      private(set) var second = true
      override var isAsynchronous: Bool { true }
      override func main() {
        finish()
        second = finish()
      }
    }
    let completions = Atomic<Int>(0)
    let early = Early()
    early.addCompletion { _ in completions.wrappingAdd(1, ordering: .relaxed) }
    let queue = ThreadOperationQueue(width: 1)
    try queue.add(early)
    try queue.add {}
    queue.waitForAll()
    #expect(early.second == false)
    #expect(completions.load(ordering: .relaxed) == 1)
  }

  @Test("Of many threads that finish it at once, one does; the error kept is the winner's")
  func finishRace() throws {
    for _ in 0..<200 {
      let open = Open()
      try open.start()
      let winners = Journal<Int>()
      try concurrently(3) { index in
        if open.finish(throwing: Oops(code: index)) { winners.append(index) }
      }
      #expect(winners.entries.count == 1)
      #expect(open.error as? Oops == winners.entries.first.map { Oops(code: $0) })
    }
  }

  @Test("Of many threads that finish it without an error at once, one does, and it ends once")
  func finishRaceWithoutError() throws {
    for round in 0..<(Scale.isSanitized ? 50 : 300) {
      let open = Open()
      let ends = Atomic<Int>(0)
      open.addCompletion { _ in ends.wrappingAdd(1, ordering: .relaxed) }
      try open.start()
      let winners = Atomic<Int>(0)
      let arrived = Atomic<Int>(0)
      try concurrently(3) { index in
        arrived.wrappingAdd(1, ordering: .relaxed)
        while arrived.load(ordering: .relaxed) < 3 { SystemYield.now() }
        let won =
          index == 0 && round % 2 == 0 ? open.finish(throwing: Oops(code: 1)) : open.finish()
        if won { winners.wrappingAdd(1, ordering: .relaxed) }
      }
      #expect(winners.load(ordering: .relaxed) == 1)
      #expect(ends.load(ordering: .relaxed) == 1)
    }
  }

  @Test("One that throws from main() has failed and is not on its own")
  func throwsInMain() throws {
    final class Bad: ThreadOperation, @unchecked Sendable {
      override var isAsynchronous: Bool { true }
      override func main() throws { throw Oops(code: 1) }
    }
    let bad = Bad()
    try bad.start()
    #expect(bad.error as? Oops == Oops(code: 1))
    #expect(!bad.finish())
  }

  @Test("cancelAll before asynchronous operations start leaves the queue free")
  func cancelAllBeforeStart() throws {
    let queue = ThreadOperationQueue(width: 1)
    let operations = (0..<10).map { _ in Open() }
    try queue.add(contentsOf: operations)
    operations[0].begun.pass()
    queue.cancelAll()
    operations[0].finish()
    let normal = try queue.add {}
    normal.wait()
    queue.waitForAll()
    #expect(queue.operationCount == 0)
    #expect(operations.allSatisfy { $0.isFinished })
  }

  @Test("Finishing what has not started, or is not asynchronous, stops the program")
  func misuse() async {
    await #expect(processExitsWith: .failure) { Open().finish() }
    await #expect(processExitsWith: .failure) {
      let plain = ClosureOperation { ThreadOperation.current?.finish() }
      try plain.start()
    }
  }

  @Test("Widths are exact for operations without threads")
  func width() throws {
    let queue = ThreadOperationQueue(width: 3)
    let operations = (0..<9).map { _ in Open() }
    try queue.add(contentsOf: operations)
    for index in 0..<9 {
      operations[index].begun.pass()
      #expect(operations.filter(\.isExecuting).count <= 3)
      if index >= 2 { operations[index - 2].finish() }
    }
    operations[7].finish()
    operations[8].finish()
    queue.waitForAll()
  }

  @Test("An operation that executes stays alive without its maker")
  func keptAlive() throws {
    final class Counted: ThreadOperation, @unchecked Sendable {
      let token: Census.Token
      let hand: @Sendable (Counted) -> Void
      init(_ token: Census.Token, _ hand: @escaping @Sendable (Counted) -> Void) {
        self.token = token
        self.hand = hand
        super.init()
      }
      override var isAsynchronous: Bool { true }
      override func main() { hand(self) }
    }
    let census = Census()
    weak var seen: Counted?
    do {
      let made = Counted(census.token()) { _ in }
      seen = made
      try made.start()
    }
    #expect(census.count == 1)
    seen?.finish()
    #expect(census.count == 0)
  }
}

@Suite("ResultOperation", .endsInTime)
struct ResultOperationTests {
  @Test("It hands on the value, the error, or that it was cancelled")
  func results() throws {
    let queue = ThreadOperationQueue()
    let good = ResultOperation { 42 }
    #expect(good.result == nil)
    try queue.add(good)
    #expect(try good.value() == 42)
    let bad = ResultOperation<Int> { throw Oops(code: 3) }
    try queue.add(bad)
    #expect(throws: Oops(code: 3)) { try bad.value() }
    let gone = ResultOperation(name: "gone") { 1 }
    gone.cancel()
    try queue.add(gone)
    let error = #expect(throws: ThreadOperationError.self) { try gone.value() }
    #expect(error?.reason == .cancelled)
    #expect(error?.operation == "gone")
  }
}
