import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Whose turn it is on a pool", .endsInTime)
struct PoolTurnsTests {
  @Test(
    "A thread that is one too many after another has blocked leaves its work to one that sleeps")
  func wakePassedOn() throws {
    let pool = try ThreadPool(maximumThreads: 2, idleTimeout: .seconds(3_600))
    let blocked = Gate()
    let goesOn = Gate()
    let end = Gate()
    try pool.run {
      ThreadPool.blocking { _ = blocked.pass() }
      goesOn.open()
      end.pass()
    }
    let both = CountdownLatch(2)
    for _ in 0..<2 { try pool.run { both.countDownAndWait() } }
    both.wait()
    #expect(eventually { pool.idleThreadCount == 2 })
    blocked.open()
    goesOn.pass()
    let done = CountdownLatch(1)
    try pool.run { done.countDown() }
    #expect(done.wait(for: .seconds(60)))
    end.open()
    pool.shutDown()
  }

  @Test("After a thread has blocked, what came in its place goes on alone")
  func widthAfterBlocking() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let blocked = Gate()
    let standsIn = Gate()
    let end = Gate()
    try pool.run { ThreadPool.blocking { _ = blocked.pass() } }
    try pool.run {
      standsIn.open()
      end.pass()
    }
    standsIn.pass()
    let runs = Atomic<Int>(0)
    for _ in 0..<10 { try pool.run { runs.wrappingAdd(1, ordering: .relaxed) } }
    blocked.open()
    #expect(eventually { pool.threadCount == 1 })
    #expect(runs.load(ordering: .relaxed) == 0)
    end.open()
    pool.shutDown()
    #expect(runs.load(ordering: .relaxed) == 10)
  }

  @Test(
    "A closure that gives itself again does not hold up what was given before, wherever it lies")
  func selfGiving() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let begin = Gate()
    let others = Atomic<Int>(0)
    let rounds = Atomic<Int>(0)
    let ended = Gate()
    @Sendable func again() {
      let round = rounds.wrappingAdd(1, ordering: .relaxed).newValue
      guard others.load(ordering: .relaxed) < 15, round < 50_000 else { return ended.open() }
      do { try pool.run(again) } catch { Issue.record("\(error)") }
    }
    try pool.run { begin.pass() }
    try pool.run(again)
    for _ in 0..<15 { try pool.run { others.wrappingAdd(1, ordering: .relaxed) } }
    begin.open()
    ended.pass()
    // On one thread the order is the same each time.
    #expect(rounds.load(ordering: .relaxed) < 50_000)
    pool.shutDown()
  }

  @Test(
    "What a thread took together with a long closure is done by others, however much else is waiting"
  )
  func behindALongOne() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let begin = Gate()
    let both = CountdownLatch(2)
    for _ in 0..<2 {
      try pool.run {
        both.countDown()
        begin.pass()
      }
    }
    both.wait()
    let isFree = Gate()
    try pool.run { isFree.pass() }
    let behind = Atomic<Int>(0)
    for _ in 0..<7 {
      try pool.run {
        if behind.wrappingAdd(1, ordering: .relaxed).newValue == 7 { isFree.open() }
      }
    }
    let found = Atomic<Int>(0)
    for number in 1...20_000 {
      try pool.run {
        guard number == 20_000 else { return }
        found.store(behind.load(ordering: .relaxed), ordering: .relaxed)
        isFree.open()
      }
    }
    begin.open()
    pool.shutDown()
    #expect(found.load(ordering: .relaxed) == 7)
  }
}
