import Synchronization
import TestSupport
import Testing
import Threading

@Suite("The end of an operation", .endsInTime)
struct CompletionTests {
  @Test("Completion blocks run once, in order, with the state finished, before waits return")
  func order() throws {
    let queue = ThreadOperationQueue(width: 2)
    for _ in 0..<200 {
      let journal = Journal<String>()
      let operation = ClosureOperation { journal.append("main") }
      operation.addCompletion { operation in
        journal.append("first \(operation.state)")
      }
      operation.addCompletion { _ in journal.append("second") }
      let dependant = ClosureOperation { journal.append("dependant") }
      try dependant.addDependency(operation)
      try queue.add(contentsOf: [dependant, operation])
      operation.wait()
      #expect(Array(journal.entries.prefix(3)) == ["main", "first finished", "second"])
      dependant.wait()
      #expect(journal.entries == ["main", "first finished", "second", "dependant"])
    }
  }

  @Test("Asynchronous, failed, cancelled and hand-started operations all run their blocks once")
  func everyPath() throws {
    let runs = Atomic<Int>(0)
    let queue = ThreadOperationQueue()
    let failing = ClosureOperation { throw Oops(code: 1) }
    let cancelled = ClosureOperation {}
    let open = Open()
    let byHand = ClosureOperation {}
    let all = [failing, cancelled, open, byHand]
    for operation in all {
      operation.addCompletion { _ in runs.wrappingAdd(1, ordering: .relaxed) }
    }
    cancelled.cancel()
    try queue.add(contentsOf: [failing, cancelled, open])
    open.begun.pass()
    open.finish()
    try byHand.start()
    queue.waitForAll()
    #expect(runs.load(ordering: .relaxed) == 4)
  }

  @Test("A block added after the end runs at once, on the caller's thread")
  func addedLate() throws {
    let operation = ClosureOperation {}
    try operation.start()
    let ranOn = Atomic<UInt32>(0)
    operation.addCompletion { _ in
      ranOn.store(ThreadHandle.current.kernelID, ordering: .relaxed)
    }
    #expect(ranOn.load(ordering: .relaxed) == ThreadHandle.current.kernelID)
  }

  @Test("A block added by a block runs too, after it")
  func addedByBlock() throws {
    let journal = Journal<Int>()
    let operation = ClosureOperation {}
    operation.addCompletion { operation in
      operation.addCompletion { _ in journal.append(3) }
      journal.append(1)
    }
    operation.addCompletion { _ in journal.append(2) }
    try operation.start()
    #expect(journal.entries == [1, 2, 3])
  }

  @Test("A block that is added while the operation finishes is called exactly once")
  func race() throws {
    let queue = ThreadOperationQueue(width: 1)
    let calls = Atomic<Int>(0)
    let rounds = LongTests.areOn ? 100_000 : 20_000
    for _ in 0..<rounds {
      let operation = try queue.add {}
      operation.addCompletion { _ in calls.wrappingAdd(1, ordering: .relaxed) }
    }
    queue.waitForAll()
    #expect(calls.load(ordering: .relaxed) == rounds)
  }

  @Test("Completion blocks, closures and handlers are released after the end")
  func released() throws {
    let census = Census()
    let queue = ThreadOperationQueue()
    let operation: ClosureOperation
    do {
      let inBody = census.token()
      let inBlock = census.token()
      let inHandler = census.token()
      operation = ClosureOperation { withExtendedLifetime(inBody) {} }
      operation.addCompletion { _ in withExtendedLifetime(inBlock) {} }
      operation.addCancellationHandler { _ in withExtendedLifetime(inHandler) {} }
    }
    #expect(census.count == 3)
    try queue.add(operation)
    operation.wait()
    #expect(eventually { census.count == 0 })
    #expect(operation.isFinished)
  }

  @Test("A block that mentions its operation keeps it alive no longer than until it has run")
  func cycle() throws {
    let census = Census()
    weak var weakly: ClosureOperation?
    do {
      let token = census.token()
      let operation = ClosureOperation { withExtendedLifetime(token) {} }
      operation.addCompletion { [operation] _ in withExtendedLifetime(operation) {} }
      weakly = operation
      try operation.start()
    }
    #expect(weakly == nil)
    #expect(census.count == 0)
  }

  @Test("Cancellation handlers are called once by the cancelling thread, late ones at once")
  func handlers() throws {
    let journal = Journal<String>()
    let open = Open()
    open.addCancellationHandler { operation in
      journal.append("told \(operation.isCancelled)")
      operation.cancel()
    }
    try open.start()
    open.cancel()
    open.cancel()
    open.addCancellationHandler { _ in journal.append("late") }
    #expect(journal.entries == ["told true", "late"])
    open.finish()
    let plain = ClosureOperation {}
    plain.addCancellationHandler { _ in journal.append("never") }
    try plain.start()
    plain.cancel()
    #expect(!plain.isCancelled)
    #expect(journal.entries == ["told true", "late"])
  }

  @Test(
    "Each operation that a queue cancels while it runs is told, though it ends before its turn to be told"
  )
  func toldAfterTheEnd() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let queue = ThreadOperationQueue(pool: pool)
    let begun = CountdownLatch(2)
    let operations = try (0..<2).map { _ in
      try queue.add {
        begun.countDown()
        while ThreadOperation.current?.isCancelled == false { SystemYield.now() }
      }
    }
    let told = Journal<ObjectIdentifier>()
    for operation in operations {
      operation.addCancellationHandler { operation in
        told.append(ObjectIdentifier(operation))
        #expect(eventually { operations.allSatisfy { $0.isFinished } })
      }
    }
    begun.wait()
    queue.cancelAll()
    #expect(Set(told.entries) == Set(operations.map { ObjectIdentifier($0) }))
    #expect(told.entries.count == 2)
    pool.shutDown()
  }
}
