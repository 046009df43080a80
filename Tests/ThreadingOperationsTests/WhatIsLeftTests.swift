import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

/// What was taken is done or ended, whatever is shut down, blocked or let go meanwhile.
/// Has a pool run as many closures as it runs at once, until the gate is opened.
private func keepBusy(_ pool: ThreadPool) throws -> Gate {
  let gate = Gate()
  let width = AvailableParallelism.current
  let inside = CountdownLatch(width)
  for _ in 0..<width {
    try pool.run {
      inside.countDown()
      gate.pass()
    }
  }
  inside.wait()
  return gate
}

@Suite("Nothing is left over", .endsInTime)
struct WhatIsLeftTests {
  @Test("An immediate shutdown returns although a queue goes away with what it cancels")
  func lastReference() throws {
    for _ in 0..<20 {
      let pool = try ThreadPool(maximumThreads: 1)
      do {
        let queue = ThreadOperationQueue(pool: pool)
        let operation = Open()
        operation.addCancellationHandler { operation in operation.finish() }
        try queue.add(operation)
        #expect(eventually { operation.isExecutingWithoutThread })
      }
      pool.shutDownNow()
      #expect(pool.threadCount == 0)
    }
  }

  @Test("A graceful shutdown does all parts of the groups and all attempts that were taken")
  func partsAfterShutdown() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(pool: pool)
    let gate = Gate()
    try queue.add { gate.pass() }
    let group = GroupOperation()
    let ran = AtomicCounter()
    let parts = try (0..<3).map { _ in try group.add { ran.increment() } }
    try queue.add(group)
    let retrying = RetryingOperation(RetryPolicy(attempts: 3)) { attempt in
      if attempt < 3 { throw Oops(code: attempt) }
    }
    try queue.add(retrying)
    let over = try inBackground { pool.shutDown() }
    #expect(
      eventually {
        do throws(ThreadOperationError) {
          try pool.run {}
          return false
        } catch { return true }
      })
    gate.open()
    over()
    #expect(ran.value == 3)
    #expect(parts.allSatisfy { $0.isFinished })
    #expect(group.error == nil)
    #expect(retrying.error == nil)
    #expect(retrying.attempts == 3)
  }

  @Test("What the end of a group's operation adds to the group, which is skipped, ends too")
  func addedToSkipped() throws {
    let group = GroupOperation()
    let first = try group.add {}
    let second = ClosureOperation {}
    first.addCompletion { _ in
      do throws(ThreadOperationError) {
        try group.add(second)
      } catch {
        Issue.record("\(error)")
      }
    }
    group.cancel()
    try ThreadOperationQueue().add(group)
    #expect(group.wait(for: .seconds(60)))
    #expect(first.isFinished)
    #expect(second.wait(for: .seconds(60)))
    let error = #expect(throws: ThreadOperationError.self) { try group.add {} }
    #expect(error?.reason == .hasStarted)
  }

  @Test("A group refuses an operation that it has, and runs it once")
  func twiceInGroup() throws {
    let group = GroupOperation()
    let ran = AtomicCounter()
    let part = ClosureOperation { ran.increment() }
    try group.add(part)
    let error = #expect(throws: ThreadOperationError.self) { try group.add(part) }
    #expect(error?.reason == .alreadyUsed)
    #expect(group.count == 1)
    try ThreadOperationQueue(width: 1).add(group)
    #expect(group.wait(for: .seconds(60)))
    #expect(group.error == nil)
    #expect(ran.value == 1)
  }

  @Test("An operation that another pool was to run ends when that is shut down at once")
  func droppedElsewhere() async {
    await #expect(processExitsWith: .success) { try WhatIsLeftTests().checkDroppedElsewhere() }
  }

  fileprivate func checkDroppedElsewhere() throws {
    let background = ThreadPool.shared(.background)
    let gate = try keepBusy(background)
    let queue = ThreadOperationQueue(width: 1)
    let ran = AtomicCounter()
    let operation = ClosureOperation { ran.increment() }
    operation.quality = .background
    try queue.add(operation)
    let next = try queue.add {}
    precondition(eventually { operation.isExecuting })
    let over = try inBackground { background.shutDownNow() }
    precondition(operation.wait(for: .seconds(60)))
    guard case .cancelled = operation.outcome else { fatalError("\(operation)") }
    precondition(next.wait(for: .seconds(60)) && next.error == nil)
    precondition(ran.value == 0)
    gate.open()
    over()
  }

  @Test("One that is cancelled while it stands in line for the pool of its quality does not run")
  func cancelledElsewhere() async {
    await #expect(processExitsWith: .success) { try WhatIsLeftTests().checkCancelledElsewhere() }
  }

  fileprivate func checkCancelledElsewhere() throws {
    let gate = try keepBusy(ThreadPool.shared(.background))
    let queue = ThreadOperationQueue(width: 1)
    let ran = AtomicCounter()
    let operation = ClosureOperation { ran.increment() }
    operation.quality = .background
    try queue.add(operation)
    precondition(eventually { operation.isExecuting })
    operation.cancel()
    gate.open()
    precondition(operation.wait(for: .seconds(60)))
    guard case .cancelled = operation.outcome else { fatalError("\(operation)") }
    precondition(ran.value == 0)
  }

  @Test("A time limit is on time though all closures of the shared pool wait for it")
  func limitUnderLoad() async {
    await #expect(processExitsWith: .success) { try WhatIsLeftTests().checkLimitUnderLoad() }
  }

  fileprivate func checkLimitUnderLoad() throws {
    let operation = Open()
    let queue = ThreadOperationQueue(width: 1)
    operation.addCancellationHandler { operation in operation.finish() }
    try queue.add(operation)
    let width = AvailableParallelism.current
    let inside = CountdownLatch(width)
    for _ in 0..<width {
      try ThreadPool.shared.run {
        inside.countDown()
        while !operation.isCancelled { SystemYield.now() }
      }
    }
    inside.wait()
    try operation.cancel(unlessFinishedBy: .now.advanced(by: .milliseconds(5)))
    precondition(operation.wait(for: .seconds(60)))
  }

  @Test("After one of a pool's threads has blocked, operations keep to the pool's maximum")
  func maximumAfterBlock() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(width: 8, pool: pool)
    let gauge = Gauge()
    let isOver = AtomicFlag()
    let second = Gate()
    queue.suspend()
    try queue.add {
      _ = ThreadPool.blocking { second.pass() }
      // Both threads are at work now; the next one that is done stands back.
      _ = isOver.testAndSet()
    }
    try queue.add { second.open() }
    try queue.add { while !isOver.isSet { SystemYield.now() } }
    for _ in 0..<300 {
      try queue.add {
        gauge.enter()
        SystemYield.now()
        gauge.leave()
      }
    }
    queue.resume()
    #expect(queue.waitForAll(for: .seconds(60)))
    #expect(gauge.most == 1)
    pool.shutDown()
  }

  @Test("A dependency that is removed takes its rule for failures with it")
  func removedRule() throws {
    let failing = ClosureOperation { throw Oops(code: 1) }
    let other = ClosureOperation {}
    let operation = ClosureOperation {}
    try operation.addDependency(failing, onFailure: .cancel)
    try operation.addDependency(other)
    try operation.removeDependency(failing)
    try failing.start()
    #expect(!operation.isCancelled)
    // It still holds where the dependency stands, and for one that has failed before.
    let late = ClosureOperation {}
    try late.addDependency(failing, onFailure: .cancel)
    #expect(late.isCancelled)
  }

  @Test("A value that is waited for no more is an error of what would have had it")
  func valueNotWaitedFor() throws {
    let queue = ThreadOperationQueue(width: 1)
    let source = ResultOperation { 1 }
    let next = try queue.add(after: source) { $0 + 1 }
    try next.removeDependency(source)
    let error = #expect(throws: ThreadOperationError.self) { try next.value() }
    #expect(error?.reason == .unfinishedDependencies)
    try source.start()
  }

  @Test("Pieces larger than any collection are the whole of it")
  func hugePieces() {
    let sum = Atomic<Int>(0)
    parallelForEach(1...10, piece: .max) { sum.wrappingAdd($0, ordering: .relaxed) }
    #expect(sum.load(ordering: .relaxed) == 55)
    #expect(parallelReduce(1...10, into: 0, piece: .max, { $0 += $1 }, combining: +) == 55)
    #expect(parallelMap(1...3, piece: .max) { $0 * 2 } == [2, 4, 6])
  }

  @Test("A pipeline on a pool that was shut down starts no thread")
  func pipelineAfterShutdown() throws {
    let pool = try ThreadPool(maximumThreads: 3)
    pool.shutDown()
    let count = try WorkPipeline(of: Int.self)
      .parallel { number in
        if pool.threadCount != 0 { Issue.record("\(pool.threadCount) threads") }
        return number
      }
      .run(0..<100, inFlight: 8, on: pool)
    #expect(count == 100)
    #expect(pool.threadCount == 0)
  }

  @Test("Without a pause, and with a factor beyond all bounds, a policy answers at once")
  func policies() {
    let error = Oops(code: 0)
    let none = RetryPolicy(attempts: .max)
    #expect(none.pause(after: .max - 1, error) == .zero)
    let same = RetryPolicy(attempts: .max, pause: .seconds(1), factor: 1)
    #expect(same.pause(after: .max - 1, error) == .seconds(1))
    let steep = RetryPolicy(attempts: 5, pause: .seconds(1), factor: .infinity)
    #expect(steep.pause(after: 1, error) == .seconds(1))
    #expect(steep.pause(after: 2, error) == .seconds(60))
    let huge = RetryPolicy(attempts: 5, pause: .seconds(1), factor: 1e300)
    #expect(huge.pause(after: 4, error) == .seconds(60))
  }

  @Test("All attempts of one with a quality are made with it")
  func qualityOfAttempts() throws {
    let names = Journal<String?>()
    let operation = RetryingOperation(RetryPolicy(attempts: 3)) { attempt in
      names.append(ThreadHandle.current.name)
      if attempt < 3 { throw Oops(code: attempt) }
    }
    operation.quality = .background
    try ThreadOperationQueue(width: 1).add(operation)
    #expect(operation.wait(for: .seconds(60)))
    #expect(operation.error == nil)
    #expect(names.entries == [String?](repeating: names.entries[0], count: 3))
  }
}
