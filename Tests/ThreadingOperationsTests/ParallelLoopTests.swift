import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingThreads

@Suite("Parallel loops", .endsInTime)
struct ParallelLoopTests {
  @Test("Every element is done exactly once", arguments: [0, 1, 2, 7, 1_000, 100_003])
  func once(count: Int) throws {
    let seen = Locked([UInt8](repeating: 0, count: count))
    let all = parallelForEach(0..<count) { index in seen.withLock { $0[index] += 1 } }
    #expect(all)
    #expect(seen.withLock { $0 }.allSatisfy { $0 == 1 })
  }

  @Test("Pieces of any size cover everything", arguments: [1, 3, 64, 5_000])
  func pieces(size: Int) throws {
    let sum = Atomic<Int>(0)
    parallelForEach(1...1_000, piece: size) { sum.wrappingAdd($0, ordering: .relaxed) }
    #expect(sum.load(ordering: .relaxed) == 500_500)
  }

  @Test("A loop over pieces is handed each number once")
  func plainPieces() {
    let seen = Locked<[Range<Int>]>([])
    parallelForEachPiece(of: 10_007) { piece in seen.withLock { $0.append(piece) } }
    let inOrder = seen.withLock { $0 }.sorted { $0.lowerBound < $1.lowerBound }
    #expect(inOrder.flatMap { $0 } == Array(0..<10_007))
  }

  @Test(
    "Threads of the pool help, and not more of them than it has",
    .enabled(if: AvailableParallelism.initial > 1))
  func helpers() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let threads = Locked<Set<UInt32>>([])
    let gauge = Gauge()
    let both = Gate()
    parallelForEach(0..<200, on: pool, piece: 1) { index in
      gauge.enter()
      let id = ThreadHandle.current.kernelID
      threads.withLock { _ = $0.insert(id) }
      if gauge.now > 1 { both.open() }
      if index < 2 { both.pass() }
      gauge.leave()
    }
    #expect(threads.withLock { $0.count } >= 2)
    #expect(gauge.most <= 3)
  }

  @Test(
    "On a pool that was shut down the caller does it all, and no thread is started",
    arguments: 0..<20)
  func afterShutdown(run: Int) throws {
    let pool = try ThreadPool(maximumThreads: 4)
    pool.shutDown()
    let sum = Atomic<Int>(0)
    parallelForEach(1...100, on: pool, piece: 1) { number in
      sum.wrappingAdd(number, ordering: .relaxed)
      if pool.threadCount != 0 { Issue.record("\(pool.threadCount) threads") }
    }
    #expect(sum.load(ordering: .relaxed) == 5_050)
  }

  @Test(
    "A loop in a loop is helped by a thread that has nothing else to do",
    .enabled(if: AvailableParallelism.initial > 1), arguments: [1, 2, 64])
  func innerHelp(outer: Int) throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let hasHelp = Gate()
    // What the pool's thread has of the outer loop is soon done, before or after the inner loop begins.
    parallelForEach(0..<outer, on: pool, piece: 1) { _ in
      guard ThreadPool.workerIndex == nil else { return }
      parallelForEach(0..<2, on: pool, piece: 1) { _ in
        if ThreadPool.workerIndex != nil { hasHelp.open() }
        #expect(hasHelp.pass())
      }
    }
    pool.shutDown()
  }

  @Test(
    "A loop in a loop wakes a thread that sleeps", .enabled(if: AvailableParallelism.initial > 1))
  func innerWakes() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let begun = Gate()
    let hasHelp = Gate()
    parallelForEach(0..<2, on: pool, piece: 1) { _ in
      guard ThreadPool.workerIndex == nil else {
        // So that the caller gets a part of the outer loop.
        begun.pass()
        return
      }
      begun.open()
      // The thread has done its part, or was not needed: nobody looks out for the inner loop.
      #expect(eventually { pool.idleThreadCount == pool.threadCount })
      parallelForEach(0..<2, on: pool, piece: 1) { _ in
        if ThreadPool.workerIndex != nil { hasHelp.open() }
        #expect(hasHelp.pass())
      }
    }
    pool.shutDown()
  }

  @Test("Loops without number inside a loop leave the pool as it was")
  func manyInner() throws {
    let pool = try ThreadPool(maximumThreads: 3)
    let count = AtomicCounter()
    for _ in 0..<5 {
      parallelForEach(0..<8, on: pool, piece: 1) { _ in
        for _ in 0..<50 {
          parallelForEach(0..<4, on: pool, piece: 1) { _ in count.increment() }
        }
      }
    }
    #expect(count.value == 5 * 8 * 50 * 4)
    let done = CountdownLatch(3)
    for _ in 0..<3 { try pool.run { done.countDownAndWait() } }
    #expect(done.wait(for: .seconds(60)))
    pool.shutDown()
    #expect(pool.threadCount == 0)
  }

  @Test("Help that comes when a loop is over does not enter it")
  func lateHelp() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let inside = CountdownLatch(2)
    let gate = Gate()
    for _ in 0..<2 {
      try pool.run {
        inside.countDown()
        gate.pass()
      }
    }
    inside.wait()
    // All threads are busy: the caller does these alone, and the help that was asked for comes after.
    let count = AtomicCounter()
    for _ in 0..<50 { parallelForEach(0..<10, on: pool, piece: 1) { _ in count.increment() } }
    #expect(count.value == 500)
    gate.open()
    pool.shutDown()
    #expect(count.value == 500)
  }

  @Test("Loops in loops, and loops in operations on a pool of one thread, come to their end")
  func nested() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(pool: pool)
    let total = Atomic<Int>(0)
    for _ in 0..<4 {
      try queue.add {
        parallelForEach(0..<20, on: pool) { _ in
          parallelForEach(0..<20, on: pool) { _ in
            parallelForEach(0..<5) { _ in total.wrappingAdd(1, ordering: .relaxed) }
          }
        }
      }
    }
    queue.waitForAll()
    #expect(total.load(ordering: .relaxed) == 8_000)
  }

  @Test("The first error ends the loop and is thrown, with its type")
  func errors() {
    let calls = Atomic<Int>(0)
    do throws(Oops) {
      try parallelForEach(0..<1_000_000, piece: 10) { index throws(Oops) in
        calls.wrappingAdd(1, ordering: .relaxed)
        if index == 500 { throw Oops(code: index) }
      }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.code == 500)
    }
    #expect(calls.load(ordering: .relaxed) < 1_000_000)
  }

  @Test("A loop that is told to stop says that it was not done")
  func stopped() {
    let calls = Atomic<Int>(0)
    let all = parallelForEach(
      0..<1_000_000, piece: 10, while: { calls.load(ordering: .relaxed) < 1_000 }
    ) { _ in
      calls.wrappingAdd(1, ordering: .relaxed)
    }
    #expect(!all)
    #expect(calls.load(ordering: .relaxed) < 2_000)
  }

  @Test("What the loop wrote is seen after it, and nothing of it is kept")
  func released() {
    let census = Census()
    for _ in 0..<200 {
      let token = census.token()
      parallelForEach(0..<100) { _ in withExtendedLifetime(token) {} }
    }
    #expect(census.count == 0)
  }

  @Test("A map keeps the order", arguments: [0, 1, 10, 50_000])
  func map(count: Int) {
    let values = parallelMap(0..<count) { "\($0)" }
    #expect(values == (0..<count).map { "\($0)" })
  }

  @Test("A map that fails throws the error and releases what it has computed")
  func failingMap() {
    let census = Census()
    #expect(throws: Oops(code: 7)) {
      _ = try parallelMap(0..<10_000, piece: 16) { index throws(Oops) in
        if index == 7_007 { throw Oops(code: 7) }
        return census.token()
      }
    }
    #expect(census.count == 0)
  }

  @Test("A reduction gives the same floating-point number each time, as its pieces say")
  func reduction() {
    let numbers = (0..<100_000).map { 1.0 / Double($0 + 1) }
    let results = (0..<20).map { _ in
      parallelReduce(numbers, into: 0.0, { $0 += $1 }, combining: +)
    }
    #expect(Set(results).count == 1)
    let pool = results[0]
    #expect(abs(pool - numbers.reduce(0, +)) < 1e-9)
    #expect(parallelReduce(1...1_000, into: 0, piece: 7, { $0 += $1 }, combining: +) == 500_500)
    #expect(parallelReduce([Int](), into: 5, { $0 += $1 }, combining: +) == 5)
    // Not commutative: the order of the elements is kept.
    let text = parallelReduce(0..<300, into: "", { $0 += "\($1) " }, combining: +)
    #expect(text == (0..<300).map { "\($0) " }.joined())
  }

  @Test("A reduction that fails throws the error")
  func failingReduction() {
    #expect(throws: Oops(code: 3)) {
      _ = try parallelReduce(
        0..<1_000, into: 0,
        { (sum: inout Int, number: Int) throws(Oops) in
          if number == 3 { throw Oops(code: 3) }
          sum += number
        }, combining: +)
    }
  }

  @Test("Many loops at once, from many threads")
  func manyLoops() throws {
    try concurrently(4) { thread in
      for round in 0..<100 {
        let sum = parallelReduce(0..<(round * 10), into: 0, { $0 += $1 }, combining: +)
        let count = round * 10
        #expect(sum == count * (count - 1) / 2)
        let mapped = parallelMap(0..<count) { $0 + thread }
        #expect(mapped.last == (count == 0 ? nil : count - 1 + thread))
      }
    }
  }

  /// Swift's empty arrays share one storage: for the thread sanitizer, which must see nobody write it.
  @Test("Loops over nothing, from many threads at once")
  func manyEmptyLoops() throws {
    try concurrently(4) { _ in
      for _ in 0..<1_000 {
        #expect(parallelMap(0..<0) { $0 }.isEmpty)
        #expect(parallelReduce([Int](), into: 5, { $0 += $1 }, combining: +) == 5)
      }
    }
  }

  @Test("Pieces of no elements stop the program")
  func misuse() async {
    await #expect(processExitsWith: .failure) { parallelForEach(0..<10, piece: 0) { _ in } }
    await #expect(processExitsWith: .failure) {
      _ = parallelReduce(0..<10, into: 0, piece: -1, { $0 += $1 }, combining: +)
    }
  }
}
