import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Operations under stress", .endsInTime)
struct StressTests {
  /// A second, or a minute in the longer mode.
  private static let time = Duration.seconds(LongTests.areOn ? 60 : 1)

  @Test("Eight threads add, cancel, suspend, change widths and priorities", arguments: 0..<2)
  func eightThreads(seed: UInt64) throws {
    let census = Census()
    let ran = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    let added = Atomic<Int>(0)
    do {
      let pool = try ThreadPool(maximumThreads: 3)
      let queues = (1...3).map { (width: Int) in ThreadOperationQueue(width: width, pool: pool) }
      let gauges = queues.map { _ in Gauge() }
      let recent = Locked<[ThreadOperation]>([])
      let limit = MonotonicInstant.now.advanced(by: Self.time)
      try concurrently(8) { thread in
        var random = SeededGenerator(seed: seed &* 8 &+ UInt64(thread))
        while MonotonicInstant.now < limit {
          let place = Int.random(in: 0..<queues.count, using: &random)
          let queue = queues[place]
          let gauge = gauges[place]
          do {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<60:
              guard queue.operationCount < 2_000 else { break }
              let token = census.token()
              let operation = ClosureOperation {
                withExtendedLifetime(token) {}
                gauge.enter()
                ran.wrappingAdd(1, ordering: .relaxed)
                gauge.leave()
              }
              operation.priority = ThreadOperation.Priority.allCases.randomElement(using: &random)!
              operation.addCompletion { _ in ended.wrappingAdd(1, ordering: .relaxed) }
              if let other = recent.withLock({ $0.randomElement(using: &random) }) {
                try operation.addDependency(other)
              }
              added.wrappingAdd(1, ordering: .relaxed)
              if Int.random(in: 0..<20, using: &random) == 0 {
                try queue.addBarrier(operation)
              } else {
                try queue.add(operation)
                // A barrier is not among those that others depend on: one of another queue might come to
                // wait for itself by way of the barriers of both.
                recent.withLock { recent in
                  if recent.count > 30 { recent.removeFirst() }
                  recent.append(operation)
                }
              }
            case 60..<75: recent.withLock { $0.randomElement(using: &random) }?.cancel()
            case 75..<80: queue.suspend()
            case 80..<90: queue.resume()
            case 90..<94: queue.width = Int.random(in: 0...(place + 1), using: &random)
            case 94..<98:
              recent.withLock { $0.randomElement(using: &random) }?.priority =
                ThreadOperation.Priority.allCases.randomElement(using: &random)!
            case 98: queue.cancelAll()
            default: _ = queue.waitForAll(for: .microseconds(200))
            }
          } catch {
            Issue.record("\(error)")
          }
        }
      }
      for (place, queue) in queues.enumerated() {
        queue.width = place + 1
        queue.resume()
      }
      for queue in queues {
        #expect(queue.waitForAll(for: .seconds(40)), "\(queue) hangs")
        #expect(queue.operationCount == 0)
        #expect(queue.operations.isEmpty)
      }
      for (place, gauge) in gauges.enumerated() {
        #expect(gauge.most <= place + 1)
        #expect(gauge.now == 0)
      }
      recent.withLock { $0 = [] }
      pool.shutDown()
      #expect(pool.threadCount == 0)
    }
    #expect(ended.load(ordering: .relaxed) == added.load(ordering: .relaxed))
    #expect(ran.load(ordering: .relaxed) <= added.load(ordering: .relaxed))
    #expect(ran.load(ordering: .relaxed) > 0)
    #expect(census.count == 0)
  }

  @Test(
    "Barriers hold in random graphs over several queues",
    arguments: 0..<(LongTests.areOn ? 2_000 : 40))
  func barriers(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let pool = try ThreadPool(maximumThreads: 3)
    let queues = (1...3).map { (width: Int) in ThreadOperationQueue(width: width, pool: pool) }
    let early = Atomic<Int>(0)
    var before: [[ThreadOperation]] = queues.map { _ in [] }
    var lastBarrier: [ThreadOperation?] = queues.map { _ in nil }
    var all: [ThreadOperation] = []
    for _ in 0..<Int.random(in: 1...150, using: &random) {
      let place = Int.random(in: 0..<queues.count, using: &random)
      let isBarrier = Int.random(in: 0..<6, using: &random) == 0
      // What has to have finished before: all that came before a barrier, or the last barrier.
      let preceding = isBarrier ? before[place] : lastBarrier[place].map { [$0] } ?? []
      let inputs = Array(all.shuffled(using: &random).prefix(Int.random(in: 0..<3, using: &random)))
      let isHurried = Bool.random(using: &random)
      let operation = ClosureOperation {
        for other in preceding + inputs where !other.isFinished {
          early.wrappingAdd(1, ordering: .relaxed)
        }
        if !isHurried { SystemYield.now() }
      }
      // Only on what was added before: so nothing can come to wait for itself by way of a barrier.
      for input in inputs { try operation.addDependency(input) }
      if isBarrier {
        try queues[place].addBarrier(operation)
        lastBarrier[place] = operation
      } else {
        try queues[place].add(operation)
      }
      before[place].append(operation)
      all.append(operation)
      switch Int.random(in: 0..<10, using: &random) {
      case 0: all.randomElement(using: &random)!.cancel()
      case 1: queues[place].width = Int.random(in: 1...3, using: &random)
      case 2:
        all.randomElement(using: &random)!.priority =
          ThreadOperation.Priority.allCases.randomElement(using: &random)!
      case 3: queues[place].suspend()
      default: queues.randomElement(using: &random)!.resume()
      }
    }
    for queue in queues { queue.resume() }
    for queue in queues {
      #expect(queue.waitForAll(for: .seconds(30)), "\(queue) hangs: \(queue.operations)")
    }
    #expect(early.load(ordering: .relaxed) == 0)
    let unfinished = all.filter { !$0.isFinished }
    #expect(unfinished.isEmpty)
    pool.shutDown()
  }

  @Test("A queue of width 1 stays serial while tasks wait for its operations and cancel them")
  func serialWithTasks() async throws {
    let queue = ThreadOperationQueue(width: 1)
    let gauge = Gauge()
    let rounds = LongTests.areOn ? 100_000 : Scale.isSanitized ? 500 : 5_000
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<rounds {
        group.addTask {
          let operation = AsyncOperation {
            gauge.enter()
            await Task.yield()
            gauge.leave()
          }
          operation.priority = number % 3 == 0 ? .high : .normal
          try queue.add(operation)
          if number % 5 == 0 { operation.cancel() }
          await operation.finished()
        }
        if number % 100 == 99 { for _ in 0..<100 { try await group.next() } }
      }
      try await group.waitForAll()
    }
    #expect(gauge.most == 1)
    #expect(eventually { queue.operationCount == 0 })
  }
}

@Suite("Costs of operations", .endsInTime)
struct CostTests {
  @Test(
    "Operations and closures that are over leave nothing behind",
    .disabled(if: AllocatingSanitizer.isActive))
  func leftovers() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { try CostTests().checkLeftovers() }
  }

  fileprivate func checkLeftovers() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(width: 1, pool: pool)
    let counter = AtomicCounter()
    func round() throws {
      // All are there at once, so that what grows with their number is as large in each round.
      let gate = Gate()
      try pool.run { gate.pass() }
      var last: ThreadOperation?
      for number in 0..<2_000 {
        let operation = ClosureOperation { counter.increment() }
        if let last, number % 3 == 0 { try operation.addDependency(last) }
        if number % 5 == 0 { operation.addCompletion { _ in counter.increment() } }
        if number % 7 == 0 { operation.name = "number \(number)" }
        try queue.add(operation)
        if number % 11 == 0 { operation.cancel() }
        last = operation
        try pool.run { counter.increment() }
      }
      last = nil
      gate.open()
      queue.waitForAll()
      let done = CountdownLatch(1)
      try pool.run {
        do {
          for _ in 0..<100 { try pool.run { counter.increment() } }
          // On the one thread, it comes after what came from outside before.
          try pool.run { done.countDown() }
        } catch {
          fatalError("\(error)")
        }
      }
      done.wait()
      #expect(eventually { pool.idleThreadCount == 1 })
    }
    for _ in 0..<3 { try round() }
    let before = ProcessFigures.now().residentBytes
    for _ in 0..<100 { try round() }
    let after = ProcessFigures.now().residentBytes
    // Half of the smallest allocation for each operation.
    #expect(after - before < 100 * 2_000 * 8, "\(before) bytes before, \(after) after")
    pool.shutDown()
  }

  @Test(
    "A queued closure operation takes less than 250 bytes",
    .disabled(if: AllocatingSanitizer.isActive))
  func memory() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { try CostTests().checkMemory() }
  }

  fileprivate func checkMemory() throws {
    let queue = ThreadOperationQueue(width: 1)
    queue.suspend()
    let counter = AtomicCounter()
    let count = 200_000
    let before = ProcessFigures.now().residentBytes
    for _ in 0..<count { try queue.add { counter.increment() } }
    let each = (ProcessFigures.now().residentBytes - before) / count
    #expect(each <= 250)
    queue.resume()
    queue.waitForAll()
    #expect(counter.value == count)
  }

  @Test("Threads of an idle pool do not wake")
  func idle() throws {
    let pool = try ThreadPool(maximumThreads: 3, idleTimeout: .milliseconds(20))
    let threads = Journal<UInt32>()
    let meeting = CyclicBarrier(3)
    for _ in 0..<3 {
      try pool.run {
        threads.append(SystemThread.currentID)
        _ = meeting.wait()
      }
    }
    // Those beyond the first end.
    #expect(eventually { pool.threadCount == 1 && pool.idleThreadCount == 1 })
    #expect(eventually { threads.entries.count { threadIsAsleep($0) } == 1 })
    let stays = try #require(threads.entries.first { threadIsAsleep($0) })
    // Its own timeout may still be to come, and the system may be late with it; after that, nothing is.
    var windows = 0
    var before = 0
    repeat {
      windows += 1
      before = ContextSwitches.voluntary(of: stays)
      SystemThread.sleep(until: .now.advanced(by: .milliseconds(300)))
    } while ContextSwitches.voluntary(of: stays) > before && windows < 3
    #expect(before > 0)
    #expect(ContextSwitches.voluntary(of: stays) == before)
    pool.shutDown()
  }
}
