import Synchronization
import TestSupport
import Testing
import Threading

@Suite("GroupOperation", .endsInTime)
struct GroupOperationTests {
  @Test("It finishes once, after all its operations, which run side by side")
  func sideBySide() throws {
    let queue = ThreadOperationQueue(width: 1)
    let group = GroupOperation(name: "pair", width: 2)
    let gate = Gate()
    let ends = Atomic<Int>(0)
    group.addCompletion { _ in ends.wrappingAdd(1, ordering: .relaxed) }
    // Each waits for the other, so they must be under way at once.
    let first = try group.add { gate.pass() }
    try group.add { gate.open() }
    #expect(group.count == 2)
    try queue.add(group)
    let next = try queue.add {}
    next.wait()
    #expect(group.isFinished)
    #expect(first.isFinished)
    #expect(ends.load(ordering: .relaxed) == 1)
  }

  @Test("Its operations may depend on each other, add more, and one error is the group's")
  func inside() throws {
    let group = GroupOperation()
    let journal = Journal<Int>()
    let first = ClosureOperation { journal.append(1) }
    let second = ClosureOperation {
      journal.append(2)
      try group.add { journal.append(3) }
      throw Oops(code: 9)
    }
    try second.addDependency(first)
    try group.add(second)
    try group.add(first)
    try ThreadOperationQueue().add(group)
    group.wait()
    #expect(journal.entries == [1, 2, 3])
    #expect(group.error as? Oops == Oops(code: 9))
    let error = #expect(throws: ThreadOperationError.self) { try group.add {} }
    #expect(error?.reason == .hasStarted)
  }

  @Test("An empty group finishes, by hand and on a queue")
  func empty() throws {
    let byHand = GroupOperation()
    try byHand.start()
    byHand.wait()
    let queued = GroupOperation()
    try ThreadOperationQueue().add(queued)
    queued.wait()
  }

  @Test("Cancelling an executing group cancels its operations")
  func cancelled() throws {
    let group = GroupOperation(width: 1)
    let inside = Gate()
    let runs = Atomic<Int>(0)
    try group.add {
      inside.open()
      while ThreadOperation.current?.isCancelled == false { SystemYield.now() }
    }
    for _ in 0..<5 { try group.add { runs.wrappingAdd(1, ordering: .relaxed) } }
    try ThreadOperationQueue().add(group)
    inside.pass()
    group.cancel()
    group.wait()
    #expect(runs.load(ordering: .relaxed) == 0)
  }

  @Test(
    "A group that is cancelled before its start finishes its operations")
  func cancelledBefore() throws {
    let census = Census()
    do {
      let group = GroupOperation()
      let token = census.token()
      let child = try group.add { withExtendedLifetime(token) {} }
      let outside = ClosureOperation {}
      try outside.addDependency(child)
      let queue = ThreadOperationQueue()
      try queue.add(outside)
      group.cancel()
      try queue.add(group)
      outside.wait()
      #expect(child.isFinished)
      guard case .cancelled = child.outcome else {
        Issue.record("\(child)")
        return
      }
    }
    #expect(eventually { census.count == 0 })
  }

  @Test("A group that never runs is freed with its operations")
  func dropped() throws {
    let census = Census()
    do {
      let group = GroupOperation()
      let token = census.token()
      try group.add { withExtendedLifetime(token) {} }
      #expect(census.count == 1)
    }
    #expect(census.count == 0)
  }

  @Test("Groups in groups on a small pool finish")
  func nested() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(pool: pool)
    let runs = Atomic<Int>(0)
    func group(_ depth: Int) throws -> GroupOperation {
      let made = GroupOperation(width: 1)
      for _ in 0..<3 {
        if depth > 1 {
          try made.add(try group(depth - 1))
        } else {
          try made.add { runs.wrappingAdd(1, ordering: .relaxed) }
        }
      }
      return made
    }
    let outer = try group(4)
    try queue.add(outer)
    outer.wait()
    #expect(runs.load(ordering: .relaxed) == 81)
  }

  @Test("A width of zero stops the program")
  func zero() async {
    await #expect(processExitsWith: .failure) { _ = GroupOperation(width: 0) }
  }
}

@Suite("InvocationOperation", .endsInTime)
struct InvocationOperationTests {
  private final class Parser: Sendable {
    let token: Census.Token?

    init(_ token: Census.Token? = nil) { self.token = token }

    func count(in text: String) throws -> Int {
      guard !text.isEmpty else { throw Oops(code: 4) }
      return text.count
    }

    func greeting() -> String { "hello" }
  }

  @Test("It calls the method with the argument and keeps the result, the error or the cancellation")
  func calls() throws {
    let queue = ThreadOperationQueue()
    let census = Census()
    let good = InvocationOperation(Parser(census.token()), Parser.count(in:), "four")
    let bad = InvocationOperation(Parser(), Parser.count(in:), "")
    let gone = InvocationOperation(Parser(), Parser.count(in:), "gone", name: "gone")
    let plain = InvocationOperation(Parser(), Parser.greeting)
    gone.cancel()
    try queue.add(contentsOf: [good, bad, gone, plain])
    #expect(try good.value() == 4)
    #expect(throws: Oops(code: 4)) { try bad.value() }
    #expect(try plain.value() == "hello")
    let error = #expect(throws: ThreadOperationError.self) { try gone.value() }
    #expect(error?.reason == .cancelled)
    #expect(eventually { census.count == 0 })
  }

  @Test("By hand it gives the same result")
  func byHand() throws {
    let invocation = InvocationOperation(Parser(), Parser.count(in:), "by hand")
    try invocation.start()
    #expect(try invocation.value() == 7)
  }
}

@Suite("AsyncOperation", .endsInTime)
struct AsyncOperationTests {
  @Test("It has finished when its code has, and hands on its error")
  func finishes() async throws {
    let queue = ThreadOperationQueue(width: 1)
    let ran = Journal<Int>()
    let good = AsyncOperation(name: "good") {
      await Task.yield()
      ran.append(1)
    }
    let bad = AsyncOperation {
      await Task.yield()
      throw Oops(code: 2)
    }
    try queue.add(contentsOf: [good, bad])
    let after = try queue.add { ran.append(2) }
    await after.finished()
    #expect(ran.entries == [1, 2])
    #expect(bad.error as? Oops == Oops(code: 2))
  }

  @Test("Cancelling it cancels its task")
  func cancels() async throws {
    let begun = Journal<Int>()
    let operation = AsyncOperation {
      begun.append(1)
      try await Task.sleep(for: .seconds(3_600))
    }
    try ThreadOperationQueue().add(operation)
    while begun.entries.isEmpty { await Task.yield() }
    operation.cancel()
    await operation.finished()
    #expect(operation.error is CancellationError)
  }

  @Test("Cancelled before its start, it never runs")
  func cancelledBefore() async throws {
    let operation = AsyncOperation { Issue.record("it ran") }
    operation.cancel()
    try ThreadOperationQueue().add(operation)
    await operation.finished()
    guard case .cancelled = operation.outcome else {
      Issue.record("\(operation)")
      return
    }
  }

  @Test("Tasks may wait for operations, and for their values, without a thread")
  func awaiting() async throws {
    let queue = ThreadOperationQueue(width: 2)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<100 {
        group.addTask {
          let operation = ResultOperation { number }
          try queue.add(operation)
          return try await operation.value()
        }
      }
      var sum = 0
      for try await value in group { sum += value }
      #expect(sum == 4_950)
    }
    let done = try queue.add {}
    await done.finished()
    await done.finished()
  }
}

@Suite("Results handed on", .endsInTime)
struct HandedOnTests {
  @Test("A queue computes a value, or gives the error, of a closure")
  func computed() throws {
    let queue = ThreadOperationQueue(width: 1)
    let sum = try queue.compute(name: "sum") { (1...100).reduce(0, +) }
    #expect(sum.name == "sum")
    #expect(try sum.value() == 5_050)
    let failed = try queue.compute { () throws -> Int in throw Oops(code: 4) }
    #expect(throws: Oops(code: 4)) { try failed.value() }
    let nothing = try queue.compute {}
    #expect(throws: Never.self) { try nothing.value() }
    let next = try queue.add(after: sum) { $0 + 1 }
    #expect(try next.value() == 5_051)
  }

  @Test("What an added closure throws is its operation's error, and those that depend on it run")
  func addedThrowing() throws {
    let queue = ThreadOperationQueue(width: 1)
    queue.suspend()
    let failed = try queue.add { throw Oops(code: 6) }
    let seen = Locked<(any Error)?>(nil)
    let after = ClosureOperation { [weak failed] in seen.withLock { $0 = failed?.error } }
    try after.addDependency(failed)
    try queue.add(after)
    let fine = try queue.addBarrier { try Task.checkCancellation() }
    #expect(failed.error == nil)
    queue.resume()
    queue.waitForAll()
    #expect(failed.error as? Oops == Oops(code: 6))
    #expect(seen.withLock { $0 } as? Oops == Oops(code: 6))
    #expect(fine.error == nil)
    guard case .completed = fine.outcome else {
      Issue.record("\(String(describing: fine.outcome))")
      return
    }
  }

  @Test("A value goes through a line of operations over two queues")
  func line() throws {
    let one = ThreadOperationQueue()
    let two = ThreadOperationQueue()
    let text = ResultOperation { "12" }
    let number = try one.add(after: text) { Int($0) ?? 0 }
    let doubled = try two.add(after: number, name: "doubled") { $0 * 2 }
    try two.add(text)
    #expect(try doubled.value() == 24)
    #expect(doubled.name == "doubled")
  }

  @Test("An error is handed on without the work being called")
  func errors() throws {
    let queue = ThreadOperationQueue()
    let source = ResultOperation<Int> { throw Oops(code: 6) }
    let after = try queue.add(after: source) { _ in Issue.record("it ran") }
    try queue.add(source)
    #expect(throws: Oops(code: 6)) { try after.value() }
    let cancelled = ResultOperation { 1 }
    cancelled.cancel()
    let last = try queue.add(after: cancelled) { $0 }
    try queue.add(cancelled)
    #expect(throws: ThreadOperationError.self) { try last.value() }
  }

  @Test("A subclass may compute the value")
  func subclass() throws {
    final class Square: ResultOperation<Int>, @unchecked Sendable {
      let side: Int
      init(_ side: Int) {
        self.side = side
        super.init(computedBySubclass: "square")
      }
      override func compute() -> Int { side * side }
    }
    let square = Square(5)
    try square.start()
    #expect(try square.value() == 25)
  }
}
