import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("ThreadPool", .endsInTime)
struct ThreadPoolTests {
  @Test("Closures run, each once, on threads of the pool, with its attributes")
  func closures() throws {
    let pool = try ThreadPool(
      name: "crew", maximumThreads: 2, attributes: ThreadAttributes(stackSize: 256 << 10))
    let sum = Atomic<Int>(0)
    let names = Locked<Set<String?>>([])
    for number in 1...1_000 {
      try pool.run {
        sum.wrappingAdd(number, ordering: .relaxed)
        let name = ThreadHandle.current.name
        names.withLock { _ = $0.insert(name) }
      }
    }
    pool.shutDown()
    #expect(sum.load(ordering: .relaxed) == 500_500)
    #expect(names.withLock { $0 } == ["crew"])
  }

  @Test("Closures on a pool of one thread run in order")
  func order() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let journal = Journal<Int>()
    for index in 0..<500 { try pool.run { journal.append(index) } }
    pool.shutDown()
    #expect(journal.entries == Array(0..<500))
  }

  @Test("Never more threads than the maximum, and as many as are of use")
  func maximum() throws {
    let pool = try ThreadPool(maximumThreads: 3)
    let gauge = Gauge()
    let full = Gate()
    for _ in 0..<30 {
      try pool.run {
        gauge.enter()
        if gauge.now == 3 { full.open() }
        full.pass()
        gauge.leave()
      }
    }
    pool.shutDown()
    #expect(gauge.most == 3)
  }

  @Test("An idle thread ends after the timeout, one stays")
  func idleTimeout() throws {
    let pool = try ThreadPool(maximumThreads: 4, idleTimeout: .milliseconds(20))
    let gate = Gate()
    let gauge = Gauge()
    for _ in 0..<4 {
      try pool.run {
        gauge.enter()
        gate.pass()
      }
    }
    #expect(eventually { gauge.now == 4 })
    #expect(pool.threadCount == 4)
    gate.open()
    #expect(eventually { pool.threadCount == 1 })
    let after = try ThreadOperationQueue(pool: pool).add {}
    after.wait()
  }

  @Test("The minimum of threads is there from the start and stays", arguments: [0, 1, 2])
  func minimum(count: Int) throws {
    let pool = try ThreadPool(
      minimumThreads: count, maximumThreads: 4, idleTimeout: .milliseconds(20))
    #expect(count == 0 || pool.threadCount == count)
    for _ in 0..<2 {
      let all = CountdownLatch(4)
      for _ in 0..<4 { try pool.run { all.countDownAndWait() } }
      all.wait()
      #expect(eventually { pool.threadCount == count && pool.idleThreadCount == count })
    }
    pool.shutDown()
  }

  @Test("Threads that end after their timeout, or are woken at that moment, leave no work behind")
  func timeoutsUnderLoad() throws {
    var random = SeededGenerator(seed: 7)
    for timeout in [5, 20, 60] {
      let pool = try ThreadPool(maximumThreads: 3, idleTimeout: .microseconds(timeout))
      for _ in 0..<(LongTests.areOn ? 100_000 : Scale.isSanitized ? 200 : 1_500) {
        let count = Int.random(in: 1...3, using: &random)
        let done = CountdownLatch(count)
        for _ in 0..<count { try pool.run { done.countDown() } }
        #expect(done.wait(for: .seconds(60)))
        for _ in 0..<Int.random(in: 0..<3_000, using: &random) { Processors.relax() }
      }
      #expect(pool.threadCount <= 3)
      pool.shutDown()
      #expect(pool.threadCount == 0)
      #expect(pool.idleThreadCount == 0)
    }
  }

  @Test("A closure that says it blocks lets another thread work")
  func blocking() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let gate = Gate()
    try pool.run { _ = ThreadPool.blocking { gate.pass() } }
    try pool.run { gate.open() }
    #expect(gate.pass())
    pool.shutDown()
    #expect(ThreadPool.blocking { 1 } == 1)
  }

  @Test("After a shutdown work is refused, by queues of the pool too")
  func refused() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(pool: pool)
    #expect(pool.shutDown())
    let closure = #expect(throws: ThreadOperationError.self) { try pool.run {} }
    #expect(closure?.reason == .poolIsShutDown)
    let operation = ClosureOperation {}
    let added = #expect(throws: ThreadOperationError.self) { try queue.add(operation) }
    #expect(added?.reason == .poolIsShutDown)
    #expect(operation.state == .pending)
    #expect(pool.threadCount == 0)
    #expect(pool.shutDown())
    try operation.start()
  }

  @Test("A graceful shutdown does all that was given, and can be given a deadline")
  func graceful() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let queue = ThreadOperationQueue(pool: pool)
    let runs = Atomic<Int>(0)
    let gate = Gate()
    for _ in 0..<100 {
      try queue.add {
        gate.pass()
        runs.wrappingAdd(1, ordering: .relaxed)
      }
      try pool.run { runs.wrappingAdd(1, ordering: .relaxed) }
    }
    #expect(!pool.shutDown(until: .now.advanced(by: .milliseconds(20))))
    gate.open()
    #expect(pool.shutDown())
    #expect(runs.load(ordering: .relaxed) == 200)
  }

  @Test("An immediate shutdown returns what did not run, and wakes suspended queues")
  func immediate() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(pool: pool)
    let inside = Gate()
    let running = try queue.add {
      inside.open()
      while ThreadOperation.current?.isCancelled == false { SystemYield.now() }
    }
    inside.pass()
    let waiting = try (0..<5).map { _ in try queue.add {} }
    let held = ThreadOperationQueue(pool: pool)
    held.suspend()
    let suspended = try held.add {}
    let census = Census()
    do {
      let token = census.token()
      try pool.run { withExtendedLifetime(token) {} }
    }
    let undone = pool.shutDownNow()
    #expect(
      Set(undone.map(ObjectIdentifier.init))
        == Set((waiting + [suspended]).map(ObjectIdentifier.init)))
    #expect(running.isFinished)
    #expect((waiting + [suspended]).allSatisfy { $0.isFinished })
    #expect(census.count == 0)
    #expect(pool.threadCount == 0)
  }

  @Test("A pool that nobody holds ends its threads")
  func dropped() throws {
    let finished = Gate()
    let handles = Journal<ThreadHandle>()
    do {
      let pool = try ThreadPool(maximumThreads: 2)
      try pool.run {
        handles.append(.current)
        finished.open()
      }
      finished.pass()
    }
    #expect(eventually { handles.entries.allSatisfy { $0.state == .finished } })
  }

  @Test("Attributes that are refused are refused at the making")
  func badAttributes() {
    #expect(throws: ThreadingError.self) {
      try ThreadPool(attributes: ThreadAttributes(stackSize: 1_000))
    }
  }

  @Test("A pool without threads, and a shutdown by a thread of the pool, stop the program")
  func misuse() async {
    await #expect(processExitsWith: .failure) { _ = try ThreadPool(maximumThreads: 0) }
    await #expect(processExitsWith: .failure) {
      _ = try ThreadPool(minimumThreads: 3, maximumThreads: 2)
    }
    await #expect(processExitsWith: .failure) { _ = try ThreadPool(minimumThreads: -1) }
    await #expect(processExitsWith: .failure) {
      let pool = try ThreadPool(maximumThreads: 1)
      let operation = try ThreadOperationQueue(pool: pool).add { pool.shutDown() }
      Waiting.uninterrupted(for: operation)
    }
  }

  @Test("Submitting costs the same however much is waiting already")
  func flat() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let gate = Gate()
    try pool.run { gate.pass() }
    func submit(_ count: Int) throws -> Duration {
      try OwnTime.of { for _ in 0..<count { try pool.run {} } }
    }
    _ = try submit(10_000)
    let early = try submit(20_000)
    _ = try submit(200_000)
    let late = try submit(20_000)
    #expect(late < early * 8, "\(early) early, \(late) late")
    gate.open()
    pool.shutDown()
  }
}
