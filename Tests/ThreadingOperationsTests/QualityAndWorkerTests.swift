import Glibc
import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Quality of service", .endsInTime)
struct QualityTests {
  private func schedulingInside(
    _ operation: (@escaping @Sendable () throws -> Void) -> ThreadOperation,
    on queue: ThreadOperationQueue
  ) throws -> SchedulingPolicy? {
    let found = Locked<SchedulingPolicy?>(nil)
    let made = operation {
      let policy = try ThreadHandle.current.scheduling()
      found.withLock { $0 = policy }
    }
    try queue.add(made)
    made.wait()
    #expect(made.error == nil)
    return found.withLock { $0 }
  }

  @Test("An operation with a quality runs as the system has it, on any queue")
  func ofOperations() throws {
    let queue = ThreadOperationQueue(width: 1)
    for quality in [ThreadQuality.utility, .background] {
      let inside = try schedulingInside(
        {
          let operation = ClosureOperation($0)
          operation.quality = quality
          #expect(operation.effectiveQuality == quality)
          return operation
        }, on: queue)
      #expect(inside == quality.policy)
    }
    // The threads of the queue have kept theirs.
    let plain = try schedulingInside({ ClosureOperation($0) }, on: queue)
    let mine = try ThreadHandle.current.scheduling()
    #expect(plain == mine)
  }

  @Test(
    "A pool's threads are scheduled as its maker, not as whoever asks for them",
    .enabled(if: geteuid() == 0, "needs the right to lower the nice value again"))
  func asTheMaker() throws {
    let pool = try ThreadPool(
      minimumThreads: 0, maximumThreads: 1, idleTimeout: .milliseconds(1))
    // The one that its maker has started is gone.
    #expect(eventually { pool.threadCount == 0 })
    let found = Locked<SchedulingPolicy?>(nil)
    let isFound = CountingSemaphore(0)
    let asking = try PosixThread.start(ThreadAttributes(scheduling: .other(nice: 7))) {
      try pool.run {
        found.withLock { $0 = try? ThreadHandle.current.scheduling() }
        isFound.release()
      }
    }
    try asking.join()
    isFound.acquire()
    let mine = try ThreadHandle.current.scheduling()
    #expect(found.withLock { $0 } == mine)
    pool.shutDown()
  }

  @Test("A queue has one for all; an operation's own goes before it")
  func ofQueues() throws {
    let queue = ThreadOperationQueue(name: "low", width: 2, quality: .utility)
    #expect(queue.quality == .utility)
    #expect(ThreadOperationQueue().quality == nil)
    let inside = try schedulingInside({ ClosureOperation($0) }, on: queue)
    #expect(inside == ThreadQuality.utility.policy)
    let operation = ClosureOperation {}
    #expect(operation.effectiveQuality == .default)
    queue.suspend()
    try queue.add(operation)
    #expect(operation.effectiveQuality == .utility)
    operation.quality = .background
    #expect(operation.effectiveQuality == .background)
    operation.quality = nil
    #expect(operation.quality == nil)
    #expect(operation.effectiveQuality == .utility)
    queue.resume()
    queue.waitForAll()
  }

  @Test("Widths, dependencies, errors and asynchronous ends hold for operations that run elsewhere")
  func elsewhere() throws {
    let queue = ThreadOperationQueue(width: 2)
    let gauge = Gauge()
    let order = Journal<Int>()
    var last: ThreadOperation?
    for number in 0..<60 {
      let operation = ClosureOperation {
        gauge.enter()
        SystemYield.now()
        order.append(number)
        gauge.leave()
        if number % 5 == 0 { throw Oops(code: number) }
      }
      if number % 2 == 0 { operation.quality = .utility }
      if let last { try operation.addDependency(last) }
      if number % 3 == 0 { last = operation }
      try queue.add(operation)
      operation.addCompletion { operation in
        #expect((operation.error == nil) == (number % 5 != 0))
      }
    }
    let open = Open()
    open.quality = .background
    try queue.add(open)
    open.begun.pass()
    while !open.finish() {}
    let skipped = ClosureOperation { order.append(-1) }
    skipped.quality = .utility
    skipped.cancel()
    try queue.add(skipped)
    queue.waitForAll()
    #expect(gauge.most <= 2)
    #expect(order.entries.sorted() == Array(0..<60))
    #expect(queue.operationCount == 0)
    // Both slots are free again.
    let meeting = CyclicBarrier(2)
    for _ in 0..<2 { try queue.add { _ = meeting.wait() } }
    #expect(queue.waitForAll(for: .seconds(30)))
  }

  @Test("An operation elsewhere finishes while its main() still runs, and frees one slot")
  func finishedInMain() throws {
    final class Early: ThreadOperation, @unchecked Sendable {
      override var isAsynchronous: Bool { true }
      override func main() { finish() }
    }
    let queue = ThreadOperationQueue(width: 1)
    for _ in 0..<200 {
      let operation = Early()
      operation.quality = .utility
      try queue.add(operation)
    }
    #expect(queue.waitForAll(for: .seconds(30)))
    let gauge = Gauge()
    for _ in 0..<20 {
      try queue.add {
        gauge.enter()
        SystemYield.now()
        gauge.leave()
      }
    }
    queue.waitForAll()
    #expect(gauge.most == 1)
  }
}

@Suite("Workers of pools", .endsInTime)
struct WorkerTests {
  @Test("Each thread has a number of its own, from 0, and an ended one's is given again")
  func numbers() throws {
    #expect(ThreadPool.workerIndex == nil)
    let pool = try ThreadPool(maximumThreads: 3, idleTimeout: .milliseconds(1))
    for _ in 0..<2 {
      let meeting = CyclicBarrier(3)
      let numbers = Journal<Int?>()
      let done = CountdownLatch(3)
      for _ in 0..<3 {
        try pool.run {
          numbers.append(ThreadPool.workerIndex)
          _ = meeting.wait()
          done.countDown()
        }
      }
      done.wait()
      #expect(numbers.entries.compactMap { $0 }.sorted() == [0, 1, 2])
      #expect(eventually { pool.threadCount == 1 })
    }
    pool.shutDown()
  }

  @Test("A pinned pool has a thread on each processor, and they stay there")
  func pinned() throws {
    let processors = try CPUSet.allowed()
    let pool = try ThreadPool.pinned()
    #expect(pool.threadCount == processors.count)
    #expect(pool.maximumThreads == processors.count)
    let meeting = CyclicBarrier(processors.count)
    let places = Journal<CPUSet>()
    let done = CountdownLatch(processors.count)
    for _ in processors.numbers {
      try pool.run {
        do {
          places.append(try ThreadHandle.current.affinity())
        } catch {
          Issue.record("\(error)")
        }
        _ = meeting.wait()
        done.countDown()
      }
    }
    done.wait()
    #expect(places.entries.allSatisfy { $0.count == 1 })
    #expect(places.entries.reduce(into: CPUSet()) { $0.formUnion($1) } == processors)
    pool.shutDown()
    #expect(pool.threadCount == 0)
  }

  @Test("A thread bears the name of its queue while it works, if asked, and its own after")
  func names() throws {
    let pool = try ThreadPool(name: "plain", maximumThreads: 1)
    let queue = ThreadOperationQueue(name: "thumbnails", width: 1, pool: pool)
    let names = Journal<String?>()
    let note: @Sendable () -> Void = { names.append(ThreadHandle.current.name) }
    try queue.add(note).wait()
    queue.namesThreads = true
    #expect(queue.namesThreads)
    queue.waitForAll()
    // A drain that is going on keeps the name with which it began.
    let idle = { eventually { pool.idleThreadCount == 1 } }
    #expect(idle())
    try queue.add(note).wait()
    #expect(idle())
    let done = CountdownLatch(1)
    try pool.run {
      note()
      done.countDown()
    }
    done.wait()
    #expect(names.entries == ["plain", "thumbnails", "plain"])
    pool.shutDown()
  }
}

@Suite("WorkerLocal", .endsInTime)
struct WorkerLocalTests {
  @Test("Each thread of the pool has one value, and all together hold what was done")
  func counts() throws {
    let pool = try ThreadPool(maximumThreads: 3)
    let made = AtomicCounter()
    let counts = WorkerLocal(on: pool) {
      made.increment()
      return [Int: Int]()
    }
    #expect(counts.values.isEmpty)
    let meeting = CyclicBarrier(3)
    let done = CountdownLatch(3)
    for _ in 0..<3 {
      try pool.run {
        _ = meeting.wait()
        for number in 0..<1_000 { counts.withValue { $0[number % 10, default: 0] += 1 } }
        done.countDown()
      }
    }
    done.wait()
    #expect(made.value == 3)
    #expect(counts.values.count == 3)
    let values = counts.takeValues()
    #expect(values.allSatisfy { $0.values.reduce(0, +) == 1_000 })
    #expect(counts.values.isEmpty)
    counts.withValue { $0[0] = 1 }
    #expect(counts.values == [[0: 1]])
    pool.shutDown()
  }

  @Test(
    "A loop's caller, other threads, and uses inside uses are lent values, which are used again")
  func lent() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let sums = WorkerLocal(on: pool) { 0 }
    parallelForEach(1...10_000, on: pool) { number in sums.withValue { $0 += number } }
    #expect(sums.values.reduce(0, +) == 50_005_000)
    // The pool's two, and the caller's.
    #expect(sums.values.count <= 3)
    _ = sums.takeValues()
    try concurrently(4) { _ in for _ in 0..<100 { sums.withValue { $0 += 1 } } }
    #expect(sums.values.reduce(0, +) == 400)
    #expect(sums.values.count <= 4)
    _ = sums.takeValues()
    let done = CountdownLatch(1)
    try pool.run {
      sums.withValue { outer in
        outer += 1
        sums.withValue { $0 += 10 }
        sums.withValue { $0 += 10 }
        outer += 1
      }
      done.countDown()
    }
    done.wait()
    #expect(sums.values.sorted() == [2, 20])
    pool.shutDown()
  }

  @Test(
    "A thread that takes an ended one's number takes its value over; errors pass; all is released")
  func life() throws {
    let census = Census()
    do {
      let pool = try ThreadPool(maximumThreads: 1)
      let tokens = WorkerLocal(on: pool) { [census.token()] }
      let thrown = CountdownLatch(1)
      try pool.run {
        #expect(throws: Oops(code: 3)) {
          try tokens.withValue { list throws(Oops) in
            list.append(census.token())
            throw Oops(code: 3)
          }
        }
        thrown.countDown()
      }
      thrown.wait()
      pool.shutDown()
      #expect(tokens.values.map(\.count) == [2])
      #expect(census.count == 2)
    }
    #expect(census.count == 0)
    let pool = try ThreadPool(maximumThreads: 4, idleTimeout: .milliseconds(1))
    let counts = WorkerLocal(on: pool) { 0 }
    for _ in 0..<3 {
      let done = CountdownLatch(4)
      for _ in 0..<4 {
        try pool.run {
          counts.withValue { $0 += 1 }
          done.countDownAndWait()
        }
      }
      done.wait()
      #expect(eventually { pool.threadCount == 1 })
    }
    #expect(counts.values.reduce(0, +) == 12)
    #expect(counts.values.count <= 4)
    pool.shutDown()
  }

  @Test("Values may be read while threads change theirs")
  func reading() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let pairs = WorkerLocal(on: pool) { (0, 0) }
    let isOver = Atomic<Bool>(false)
    for _ in 0..<2 {
      try pool.run {
        while !isOver.load(ordering: .relaxed) {
          pairs.withValue { pair in
            pair.0 += 1
            pair.1 += 1
          }
        }
      }
    }
    for _ in 0..<1_000 { #expect(pairs.values.allSatisfy { $0.0 == $0.1 }) }
    isOver.store(true, ordering: .relaxed)
    pool.shutDown()
  }

  @Test("Reading the values inside a use stops the program")
  func misuse() async {
    await #expect(processExitsWith: .failure) {
      let pool = try ThreadPool(maximumThreads: 1)
      let counts = WorkerLocal(on: pool) { 0 }
      let operation = try ThreadOperationQueue(pool: pool).add {
        counts.withValue { $0 += counts.values.count }
      }
      Waiting.uninterrupted(for: operation)
    }
  }
}
