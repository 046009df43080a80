import Synchronization
import TestSupport
import Testing
import Threading

@Suite("ThreadOperationQueue", .endsInTime)
struct ThreadOperationQueueTests {
  @Test("A queue of width 1 is strictly serial and in order")
  func serial() throws {
    let queue = ThreadOperationQueue(width: 1)
    let journal = Journal<Int>()
    let gauge = Gauge()
    for index in 0..<2_000 {
      try queue.add {
        gauge.enter()
        journal.append(index)
        gauge.leave()
      }
    }
    queue.waitForAll()
    #expect(journal.entries == Array(0..<2_000))
    #expect(gauge.most == 1)
  }

  @Test("As many run at once as the width allows, and never more", arguments: [2, 5])
  func width(_ width: Int) throws {
    let queue = ThreadOperationQueue(width: width)
    let gauge = Gauge()
    let full = Gate()
    for _ in 0..<width * 20 {
      try queue.add {
        gauge.enter()
        if gauge.now == width { full.open() }
        full.pass()
        gauge.leave()
      }
    }
    queue.waitForAll()
    #expect(gauge.most == width)
  }

  @Test("A queue without a limit runs as many at once as its pool may have threads")
  func unlimited() throws {
    let pool = try ThreadPool(maximumThreads: 6)
    let queue = ThreadOperationQueue(width: .max, pool: pool)
    let gauge = Gauge()
    let full = Gate()
    for _ in 0..<30 {
      try queue.add {
        gauge.enter()
        if gauge.now == 6 { full.open() }
        #expect(full.pass())
        gauge.leave()
      }
    }
    queue.waitForAll()
    #expect(gauge.most == 6)
    pool.shutDown()
  }

  @Test("A second operation on a queue of width 2 does not wait for the first")
  func secondRuns() throws {
    let queue = ThreadOperationQueue(width: 2)
    let gate = Gate()
    let first = try queue.add { gate.pass() }
    let second = try queue.add {}
    second.wait()
    #expect(first.isExecuting)
    gate.open()
    first.wait()
  }

  @Test("A queue full of sleeping operations holds up no other queue")
  func otherQueues() throws {
    let gate = Gate()
    let busy = ThreadOperationQueue(width: 2)
    for _ in 0..<1_000 { try busy.add { gate.pass() } }
    let other = try ThreadOperationQueue().add {}
    #expect(other.wait(for: .seconds(30)))
    gate.open()
    busy.waitForAll()
  }

  @Test("Operations that wait for operations of another queue do not use up the pool")
  func waitsInside() throws {
    let outer = ThreadOperationQueue(width: 400)
    let inner = ThreadOperationQueue()
    let done = Atomic<Int>(0)
    for _ in 0..<400 {
      try outer.add {
        try inner.add { done.wrappingAdd(1, ordering: .relaxed) }.wait()
      }
    }
    #expect(outer.waitForAll(for: .seconds(50)))
    #expect(done.load(ordering: .relaxed) == 400)
  }

  @Test("Operations that wait for operations of their own queue do not use up a small pool")
  func waitsInsideSmallPool() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let queue = ThreadOperationQueue(width: 50, pool: pool)
    let done = Atomic<Int>(0)
    for _ in 0..<20 {
      try queue.add {
        try queue.add { done.wrappingAdd(1, ordering: .relaxed) }.wait()
      }
    }
    #expect(queue.waitForAll(for: .seconds(50)))
    #expect(done.load(ordering: .relaxed) == 20)
    #expect(eventually { pool.threadCount <= 2 })
  }

  @Test("Suspending lets nothing start, resuming lets all start")
  func suspension() throws {
    let queue = ThreadOperationQueue(width: 2)
    queue.suspend()
    let operations = try (0..<5).map { _ in try queue.add {} }
    #expect(queue.isSuspended)
    #expect(!queue.waitForAll(for: .milliseconds(10)))
    #expect(operations.allSatisfy { $0.state == .ready })
    #expect(queue.operationCount == 5)
    #expect(queue.operations.map(ObjectIdentifier.init) == operations.map(ObjectIdentifier.init))
    queue.resume()
    #expect(queue.waitForAll(for: .seconds(30)))
    #expect(queue.operationCount == 0)
    #expect(queue.operations.isEmpty)
  }

  @Test("Suspending one queue of a pool leaves the others going")
  func suspendsOne() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let held = ThreadOperationQueue(pool: pool)
    let free = ThreadOperationQueue(pool: pool)
    held.suspend()
    let waiting = try held.add {}
    try free.add {}.wait()
    #expect(waiting.state == .ready)
    held.resume()
    waiting.wait()
  }

  @Test("Priorities order what is ready, and may be changed after queueing")
  func priorities() throws {
    let queue = ThreadOperationQueue(width: 1)
    queue.suspend()
    let journal = Journal<Int>()
    let operations = try (0..<5).map { index in try queue.add { journal.append(index) } }
    operations[4].priority = .veryHigh
    operations[0].priority = .low
    queue.resume()
    queue.waitForAll()
    #expect(journal.entries == [4, 1, 2, 3, 0])
  }

  @Test("All five priorities come in their order")
  func fivePriorities() throws {
    let queue = ThreadOperationQueue(width: 1)
    queue.suspend()
    let journal = Journal<ThreadOperation.Priority>()
    for priority in ThreadOperation.Priority.allCases + ThreadOperation.Priority.allCases {
      let operation = ClosureOperation(name: "", priority: priority) { journal.append(priority) }
      try queue.add(operation)
    }
    queue.resume()
    queue.waitForAll()
    #expect(
      journal.entries == ThreadOperation.Priority.allCases.reversed().flatMap { [$0, $0] })
  }

  @Test("The width may be lowered and raised while operations run")
  func changedWidth() throws {
    let queue = ThreadOperationQueue(width: 2)
    let gauge = Gauge()
    let lowered = Gate()
    let early = try (0..<2).map { _ in try queue.add { lowered.pass() } }
    #expect(eventually { early.allSatisfy(\.isExecuting) })
    for _ in 0..<200 {
      try queue.add {
        gauge.enter()
        SystemYield.now()
        gauge.leave()
      }
    }
    queue.width = 1
    lowered.open()
    queue.waitForAll()
    #expect(gauge.most == 1)
    queue.width = 0
    let held = try queue.add {}
    #expect(!held.wait(for: .milliseconds(10)))
    queue.width = 1
    held.wait()
  }

  @Test("Raising the width lets more operations run at once")
  func raisedWidth() throws {
    let queue = ThreadOperationQueue(width: 1)
    let gate = Gate()
    let operations = try (0..<3).map { _ in try queue.add { gate.pass() } }
    queue.width = 3
    #expect(eventually { operations.allSatisfy(\.isExecuting) })
    gate.open()
    queue.waitForAll()
  }

  @Test("A dropped queue runs what it has; a dropped suspended queue cancels and frees it")
  func dropped() throws {
    let census = Census()
    let running: ClosureOperation
    do {
      let token = census.token()
      running = try ThreadOperationQueue().add { withExtendedLifetime(token) {} }
    }
    running.wait()
    #expect(running.error == nil)
    do {
      let queue = ThreadOperationQueue()
      queue.suspend()
      let token = census.token()
      try queue.add { withExtendedLifetime(token) {} }
      #expect(census.count >= 1)
    }
    #expect(eventually { census.count == 0 })
  }

  @Test("The current queue is told even when its user has let it go")
  func currentOfDropped() throws {
    let gate = Gate()
    let seen = Journal<String?>()
    var queue: ThreadOperationQueue? = ThreadOperationQueue(name: "gone")
    let operation = try queue!.add {
      gate.pass()
      seen.append(ThreadOperationQueue.current?.name)
      try ThreadOperationQueue.current?.add { seen.append(ThreadOperationQueue.current?.name) }
    }
    queue = nil
    gate.open()
    operation.wait()
    #expect(eventually { seen.entries == ["gone", "gone"] })
  }

  @Test("An operation of a queue has left the count when a wait for it returns")
  func exactCount() throws {
    let queue = ThreadOperationQueue(width: 1)
    for _ in 0..<2_000 {
      let operation = try queue.add {}
      operation.wait()
      #expect(queue.operationCount == 0)
    }
  }

  @Test("Threads of a queue have the stack size and name of its attributes")
  func attributes() throws {
    let queue = try ThreadOperationQueue(
      name: "importer", width: 1, attributes: ThreadAttributes(stackSize: 64 << 20))
    let name = ResultOperation { ThreadHandle.current.name }
    try queue.add(name)
    #expect(try name.value() == "importer")
    let size = ResultOperation { try SystemStack.size() }
    try queue.add(size)
    #expect(try size.value() >= 64 << 20)
    #expect(throws: ThreadingError.self) {
      try ThreadOperationQueue(attributes: ThreadAttributes(stackSize: 1_000))
    }
  }

  @Test("cancelAll reaches waiting, ready and executing operations")
  func cancelAll() throws {
    let queue = ThreadOperationQueue(width: 1)
    let never = ClosureOperation {}
    let gate = Gate()
    let executing = try queue.add {
      gate.pass()
      if ThreadOperation.current?.isCancelled == true { throw Oops(code: 5) }
    }
    #expect(eventually { executing.isExecuting })
    let ready = try queue.add {}
    let waiting = ClosureOperation {}
    try waiting.addDependency(never)
    try queue.add(waiting)
    queue.cancelAll()
    gate.open()
    #expect(queue.waitForAll(for: .seconds(30)))
    #expect(executing.error as? Oops == Oops(code: 5))
    for operation in [ready, waiting] {
      guard case .cancelled = operation.outcome else {
        Issue.record("\(operation.outcome as Any)")
        continue
      }
    }
    #expect(never.state == .pending)
  }

  @Test("No operation starts because cancelAll has made the one before it end")
  func cancelAllStartsNothing() throws {
    let queue = ThreadOperationQueue(width: 1)
    let first = Open()
    try queue.add(first)
    first.begun.pass()
    let second = try queue.add {}
    first.addCancellationHandler { first in
      first.finish()
      // Its place is free, and there is all the time to take it.
      #expect(second.wait(for: .seconds(30)))
    }
    queue.cancelAll()
    #expect(queue.waitForAll(for: .seconds(30)))
    #expect(first.isCancelled)
    guard case .cancelled = second.outcome else {
      Issue.record("\(second.outcome as Any)")
      return
    }
  }

  @Test("Nor because the one before it has seen that it is cancelled, whatever its priority")
  func cancelAllMarksWaitingFirst() throws {
    for _ in 0..<20 {
      let queue = ThreadOperationQueue(width: 1)
      let inside = Gate()
      let running = try queue.add {
        inside.open()
        while ThreadOperation.current?.isCancelled == false { Processors.relax() }
      }
      inside.pass()
      let ran = AtomicCounter()
      for _ in 0..<5_000 { try queue.add { ran.increment() } }
      // The next one to start, and the last one in the list.
      let urgent = ClosureOperation { ran.increment() }
      urgent.priority = .veryHigh
      try queue.add(urgent)
      queue.cancelAll()
      #expect(queue.waitForAll(for: .seconds(60)))
      #expect(running.isCancelled)
      #expect(ran.value == 0)
    }
  }

  @Test("A negative width stops the program")
  func negative() async {
    await #expect(processExitsWith: .failure) { _ = ThreadOperationQueue(width: -1) }
    await #expect(processExitsWith: .failure) { ThreadOperationQueue().width = -1 }
  }
}

@Suite("Barriers", .endsInTime)
struct BarrierTests {
  @Test("A barrier runs after all before it and before all after it")
  func order() throws {
    let queue = ThreadOperationQueue(width: 4)
    let journal = Journal<Int>()
    for block in 0..<20 {
      for _ in 0..<5 { try queue.add { journal.append(block * 2) } }
      try queue.addBarrier { journal.append(block * 2 + 1) }
    }
    queue.waitForAll()
    #expect(journal.entries == journal.entries.sorted())
    #expect(journal.entries.count == 120)
  }

  @Test("A barrier on an empty suspended queue waits for the resumption")
  func suspended() throws {
    let queue = ThreadOperationQueue(width: 2)
    queue.suspend()
    let barrier = try queue.addBarrier {}
    #expect(!barrier.wait(for: .milliseconds(10)))
    queue.resume()
    barrier.wait()
  }

  @Test("What is added while a barrier runs starts after it")
  func addedDuring() throws {
    let queue = ThreadOperationQueue(width: 2)
    let gate = Gate()
    let barrier = try queue.addBarrier { gate.pass() }
    #expect(eventually { barrier.isExecuting })
    let after = try queue.add {}
    #expect(!after.wait(for: .milliseconds(10)))
    gate.open()
    after.wait()
  }

  @Test("Cancelled barriers and cancelled operations behind them release what waits")
  func cancelled() throws {
    let queue = ThreadOperationQueue(width: 2)
    let gate = Gate()
    try queue.add { gate.pass() }
    let barrier = try queue.addBarrier {}
    let behind = try queue.add {}
    let last = try queue.add {}
    barrier.cancel()
    behind.cancel()
    gate.open()
    last.wait()
    queue.waitForAll()
    #expect(queue.operationCount == 0)
  }

  @Test("A barrier may be asynchronous and may have dependencies")
  func asynchronous() throws {
    let queue = ThreadOperationQueue(width: 2)
    let other = ClosureOperation {}
    let open = Open()
    try open.addDependency(other)
    try queue.addBarrier(open)
    let after = try queue.add {}
    #expect(!after.wait(for: .milliseconds(5)))
    try other.start()
    open.begun.pass()
    #expect(!after.wait(for: .milliseconds(5)))
    open.finish()
    after.wait()
  }

  @Test("A hundred thousand barriers cost the same each")
  func many() throws {
    let queue = ThreadOperationQueue(width: 2)
    queue.suspend()
    let runs = Atomic<Int>(0)
    for _ in 0..<100_000 { try queue.addBarrier { runs.wrappingAdd(1, ordering: .relaxed) } }
    queue.resume()
    #expect(queue.waitForAll(for: .seconds(30)))
    #expect(runs.load(ordering: .relaxed) == 100_000)
  }
}
