import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingOperations

@Suite("Conditions and reasons", .endsInTime)
struct ConditionTests {
  @Test("A condition that throws fails the operation without its work being done")
  func refused() throws {
    let queue = ThreadOperationQueue()
    let runs = Atomic<Int>(0)
    let asked = Journal<Int>()
    let operation = ClosureOperation { runs.wrappingAdd(1, ordering: .relaxed) }
    try operation.addCondition { _ in asked.append(1) }
    try operation.addCondition { _ in throw Oops(code: 2) }
    try operation.addCondition { _ in asked.append(3) }
    let after = ClosureOperation {}
    try after.addDependency(operation)
    try queue.add(contentsOf: [after, operation])
    after.wait()
    #expect(operation.error as? Oops == Oops(code: 2))
    #expect(runs.load(ordering: .relaxed) == 0)
    #expect(asked.entries == [1])
    let error = #expect(throws: ThreadOperationError.self) {
      try operation.addCondition { _ in }
    }
    #expect(error?.reason == .hasStarted)
  }

  @Test("Conditions are asked after the dependencies have finished, and are released")
  func askedLate() throws {
    let census = Census()
    let first = ClosureOperation {}
    let second = ClosureOperation {}
    try second.addDependency(first)
    do {
      let token = census.token()
      try second.addCondition { _ in
        withExtendedLifetime(token) {}
        if !first.isFinished { throw Oops(code: 1) }
      }
    }
    try first.start()
    try second.start()
    #expect(second.error == nil)
    #expect(census.count == 0)
    let cancelled = ClosureOperation {}
    do {
      let token = census.token()
      try cancelled.addCondition { _ in withExtendedLifetime(token) {} }
    }
    cancelled.cancel()
    try cancelled.start()
    #expect(census.count == 0)
  }

  @Test("A failed dependency cancels those that ask for it, down the line, and no others")
  func failureRule() throws {
    let queue = ThreadOperationQueue(width: 2)
    let failing = ClosureOperation(name: "source") { throw Oops(code: 1) }
    let strict = ClosureOperation { Issue.record("it ran") }
    let further = ClosureOperation { Issue.record("it ran") }
    let lenient = ClosureOperation {}
    try strict.addDependency(failing, onFailure: .cancel)
    try further.addDependency(strict, onFailure: .cancel)
    try lenient.addDependency(failing, onFailure: .runAnyway)
    try queue.add(contentsOf: [further, strict, lenient, failing])
    queue.waitForAll()
    for operation in [strict, further] {
      guard case .cancelled = operation.outcome else {
        Issue.record("\(operation)")
        continue
      }
    }
    let reason = strict.cancellationReason as? ThreadOperationError
    #expect(reason?.reason == .dependencyFailed)
    #expect(reason?.operation == "source")
    guard case .completed = lenient.outcome else {
      Issue.record("\(lenient)")
      return
    }
    // A dependency that has failed already counts too.
    let late = ClosureOperation { Issue.record("it ran") }
    try late.addDependency(failing, onFailure: .cancel)
    #expect(late.isCancelled)
    let fine = ClosureOperation {}
    try fine.addDependency(lenient, onFailure: .cancel)
    try fine.start()
    #expect(!fine.isCancelled)
  }

  @Test("The first reason for a cancellation is kept, and checkCancellation throws it")
  func reasons() throws {
    let operation = ClosureOperation { try ThreadOperation.current?.checkCancellation() }
    try operation.checkCancellation()
    operation.cancel(reason: Oops(code: 1))
    operation.cancel(reason: Oops(code: 2))
    #expect(operation.cancellationReason as? Oops == Oops(code: 1))
    #expect(throws: Oops(code: 1)) { try operation.checkCancellation() }
    let plain = ClosureOperation {}
    plain.cancel()
    #expect(plain.cancellationReason == nil)
    let error = #expect(throws: ThreadOperationError.self) { try plain.checkCancellation() }
    #expect(error?.reason == .cancelled)
  }
}

@Suite("Delays and time limits", .endsInTime)
struct TimeTests {
  @Test("A delayed operation starts no earlier, and takes no slot meanwhile")
  func delay() throws {
    let queue = ThreadOperationQueue(width: 1)
    let moment = MonotonicInstant.now.advanced(by: .milliseconds(40))
    let begun = Locked<MonotonicInstant?>(nil)
    let delayed = ClosureOperation { begun.withLock { $0 = .now } }
    try delayed.delay(until: moment)
    #expect(throws: ThreadOperationError.self) { try delayed.start() }
    try queue.add(delayed)
    let other = try queue.add {}
    other.wait()
    delayed.wait()
    #expect(begun.withLock { $0 ?? .distantFuture } >= moment)
    #expect(other.isFinished)
  }

  @Test("Many delayed operations start in the order of their moments")
  func manyDelays() throws {
    let queue = ThreadOperationQueue(width: 1)
    let journal = Journal<Int>()
    for index in (0..<20).reversed() {
      let operation = ClosureOperation { journal.append(index) }
      try operation.delay(for: .milliseconds(30 + index * 5))
      try queue.add(operation)
    }
    queue.waitForAll()
    #expect(journal.entries.sorted() == Array(0..<20))
  }

  @Test("Cancelling a delayed operation ends the delay")
  func cancelledDelay() throws {
    let census = Census()
    let queue = ThreadOperationQueue()
    do {
      let token = census.token()
      let operation = ClosureOperation { withExtendedLifetime(token) {} }
      try operation.delay(for: .seconds(3_600))
      try queue.add(operation)
      #expect(!operation.wait(for: .milliseconds(5)))
      operation.cancel()
      operation.wait()
    }
    #expect(eventually { census.count == 0 })
    let past = ClosureOperation {}
    try past.delay(until: .now)
    try past.start()
  }

  @Test("What is not finished in time is cancelled, with that reason")
  func timeLimit() throws {
    let queue = ThreadOperationQueue()
    let slow = try queue.add {
      while true {
        try ThreadOperation.current?.checkCancellation()
        SystemYield.now()
      }
    }
    try slow.cancel(unlessFinishedBy: .now.advanced(by: .milliseconds(20)))
    slow.wait()
    #expect((slow.error as? ThreadOperationError)?.reason == .timedOut)
    let quick = try queue.add {}
    try quick.cancel(unlessFinishedBy: .now.advanced(by: .seconds(3_600)))
    quick.wait()
    #expect(!quick.isCancelled)
  }

  @Test("A time limit keeps nothing alive")
  func timeLimitLetsGo() throws {
    let census = Census()
    do {
      let token = census.token()
      let operation = ClosureOperation { withExtendedLifetime(token) {} }
      try operation.cancel(unlessFinishedBy: .now.advanced(by: .seconds(3_600)))
    }
    #expect(eventually { census.count == 0 })
  }
}

@Suite("RetryingOperation", .endsInTime)
struct RetryingOperationTests {
  @Test("It tries again until it works, and lets others have the thread in the pauses")
  func works() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(width: 2, pool: pool)
    let journal = Journal<Int>()
    let policy = RetryPolicy(attempts: 5, pause: .milliseconds(10))
    let operation = RetryingOperation(policy) { attempt in
      journal.append(attempt)
      if attempt < 3 { throw Oops(code: attempt) }
    }
    try queue.add(operation)
    try queue.add {}.wait()
    operation.wait()
    #expect(journal.entries == [1, 2, 3])
    #expect(operation.attempts == 3)
    #expect(operation.error == nil)
  }

  @Test("It fails with the last error when no attempt is left, or none is worthwhile")
  func fails() throws {
    let queue = ThreadOperationQueue()
    let all = RetryingOperation(RetryPolicy(attempts: 3)) { throw Oops(code: $0) }
    let hopeless = RetryingOperation(
      RetryPolicy(attempts: 3, ifWorthwhile: { ($0 as? Oops)?.code != 1 })
    ) { throw Oops(code: $0) }
    try queue.add(contentsOf: [all, hopeless])
    queue.waitForAll()
    #expect(all.error as? Oops == Oops(code: 3))
    #expect(hopeless.error as? Oops == Oops(code: 1))
    #expect(hopeless.attempts == 1)
  }

  @Test("Cancelling it in a pause ends the pause; the last error stands")
  func cancelled() throws {
    let census = Census()
    do {
      let token = census.token()
      let operation = RetryingOperation(
        RetryPolicy(attempts: 2, pause: .seconds(3_000), longestPause: .seconds(3_600))
      ) {
        withExtendedLifetime(token) {}
        throw Oops(code: $0)
      }
      try operation.start()
      #expect(!operation.wait(for: .milliseconds(10)))
      operation.cancel()
      operation.wait()
      #expect(operation.error as? Oops == Oops(code: 1))
    }
    #expect(eventually { census.count == 0 })
  }

  @Test("Pauses grow up to the longest, and jitter only shortens them")
  func pauses() {
    let policy = RetryPolicy(
      attempts: 6, pause: .milliseconds(10), factor: 2, longestPause: .milliseconds(50))
    let pauses = (1...6).map { policy.pause(after: $0, Oops(code: 0)) }
    #expect(
      pauses == [
        .milliseconds(10), .milliseconds(20), .milliseconds(40), .milliseconds(50),
        .milliseconds(50), nil,
      ])
    let jittered = RetryPolicy(attempts: 2, pause: .milliseconds(100), jitter: 0.5)
    for _ in 0..<100 {
      let pause = jittered.pause(after: 1, Oops(code: 0)) ?? .zero
      #expect(pause <= .milliseconds(100) && pause >= .milliseconds(50))
    }
  }

  @Test("Values out of range stop the program")
  func misuse() async {
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(attempts: 0) }
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(attempts: 2, factor: 0.5) }
    await #expect(processExitsWith: .failure) { _ = RetryPolicy(attempts: 2, jitter: 1.5) }
  }
}
