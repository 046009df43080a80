import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingOperations
import ThreadingPlatform

@Suite("Deque of jobs", .endsInTime)
struct WorkDequeTests {
  private func stolen(from deque: WorkDeque) -> Job? {
    while true {
      switch deque.steal() {
      case .job(let job): return job
      case .lost: continue
      case .nothing: return nil
      }
    }
  }

  @Test(
    "The owner takes the newest first, a thief the oldest, and what is over the capacity is refused"
  )
  func ends() {
    let deque = WorkDeque(initialCapacity: 2)
    let journal = Journal<Int>()
    #expect(deque.isEmpty)
    #expect(deque.take() == nil)
    #expect(stolen(from: deque) == nil)
    for number in 0..<WorkDeque.capacity {
      #expect(deque.add(Job { journal.append(number) }))
    }
    #expect(!deque.add(Job { journal.append(-1) }))
    deque.take()?.body()
    stolen(from: deque)?.body()
    deque.take()?.body()
    stolen(from: deque)?.body()
    let last = WorkDeque.capacity - 1
    #expect(journal.entries == [last, 0, last - 1, 1])
    #expect(deque.add(Job { journal.append(-2) }))
    deque.take()?.body()
    #expect(journal.entries.last == -2)
    while let job = deque.take() { job.body() }
    #expect(journal.entries.count == WorkDeque.capacity + 1)
    #expect(deque.isEmpty)
  }

  @Test("Of some that are added at once, the owner takes the first first, a thief the last")
  func several() {
    let deque = WorkDeque()
    let journal = Journal<Int>()
    for round in 0..<30 {
      var next = 0
      deque.add(7) {
        defer { next += 1 }
        let number = next
        return Job { journal.append(number) }
      }
      deque.take()?.body()
      stolen(from: deque)?.body()
      while let job = deque.take() { job.body() }
      #expect(journal.entries.suffix(7) == [0, 6, 1, 2, 3, 4, 5])
      #expect(journal.entries.count == (round + 1) * 7)
    }
  }

  @Test("What is left in it, and what was taken, is released")
  func released() {
    let census = Census()
    do {
      let deque = WorkDeque(initialCapacity: 2)
      for _ in 0..<50 {
        let token = census.token()
        _ = deque.add(Job { withExtendedLifetime(token) {} })
      }
      #expect(census.count == 50)
      for _ in 0..<10 { deque.take()?.body() }
      for _ in 0..<10 { _ = stolen(from: deque) }
      #expect(census.count == 30)
    }
    #expect(census.count == 0)
  }

  /// The owner adds and takes in bursts of all lengths, so that the ring grows under the thieves' hands and the
  /// last job is fought for again and again.
  @Test(
    "Each job is taken once by its owner or one of three thieves, while the deque grows",
    arguments: 0..<4)
  func once(seed: UInt64) throws {
    let rounds = LongTests.areOn ? 2_000 : Scale.isSanitized ? 20 : 100
    var random = SeededGenerator(seed: seed)
    for _ in 0..<rounds {
      let count = 2_000
      let deque = WorkDeque(initialCapacity: 2)
      let runs = (0..<count).map { _ in AtomicCounter() }
      let isOver = Atomic<Bool>(false)
      let ownSeed = random.next()
      try concurrently(4) { thread in
        if thread > 0 {
          while !isOver.load(ordering: .acquiring) || !deque.isEmpty {
            self.stolen(from: deque)?.body()
          }
          return
        }
        var random = SeededGenerator(seed: ownSeed)
        var next = 0
        while next < count {
          let burst = [1, 1, 1, 2, 3, 70].randomElement(using: &random)!
          for _ in 0..<min(burst, count - next) {
            let counter = runs[next]
            #expect(deque.add(Job { counter.increment() }))
            next += 1
          }
          for _ in 0..<Int.random(in: 0...burst, using: &random) { deque.take()?.body() }
        }
        while let job = deque.take() { job.body() }
        isOver.store(true, ordering: .releasing)
      }
      #expect(runs.allSatisfy { $0.value == 1 })
    }
  }
}

/// What closures give to their own pool.
@Suite("Closures that give closures", .endsInTime)
struct NestedClosureTests {
  /// Splits into two until nothing is left to split.
  private func split(
    _ depth: Int, on pool: ThreadPool, _ leaves: AtomicCounter, _ done: CountdownLatch
  ) throws {
    if depth == 0 {
      leaves.increment()
      done.countDown()
      return
    }
    for _ in 0..<2 {
      try pool.run {
        do {
          try self.split(depth - 1, on: pool, leaves, done)
        } catch {
          Issue.record("\(error)")
        }
      }
    }
  }

  @Test("A tree of closures runs, each once", arguments: 1...4)
  func tree(threads: Int) throws {
    let pool = try ThreadPool(maximumThreads: threads)
    for depth in [0, 1, 2, 5, Scale.isSanitized ? 9 : 13] {
      let leaves = AtomicCounter()
      let done = CountdownLatch(1 << depth)
      try split(depth, on: pool, leaves, done)
      #expect(done.wait(for: .seconds(60)))
      #expect(leaves.value == 1 << depth)
    }
    pool.shutDown()
  }

  @Test("On one thread the newest goes first, and then what came from outside")
  func order() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let journal = Journal<String>()
    let begun = Gate()
    let outside = Gate()
    let given = Gate()
    try pool.run {
      begun.open()
      outside.pass()
      do {
        for name in ["a", "b", "c"] { try pool.run { journal.append(name) } }
        given.open()
      } catch {
        Issue.record("\(error)")
      }
    }
    begun.pass()
    for name in ["x", "y"] { try pool.run { journal.append(name) } }
    outside.open()
    given.pass()
    pool.shutDown()
    #expect(journal.entries == ["c", "b", "a", "x", "y"])
  }

  @Test(
    "What came from outside runs once, while threads take several at once and steal from each other"
  )
  func fromOutside() throws {
    for threads in 1...3 {
      let pool = try ThreadPool(maximumThreads: threads)
      let runs = (0..<3_000).map { _ in AtomicCounter() }
      for number in 0..<3_000 {
        try pool.run {
          runs[number].increment()
          if number % 50 == 0 { SystemYield.now() }
        }
      }
      #expect(pool.shutDown())
      #expect(runs.allSatisfy { $0.value == 1 })
    }
  }

  @Test("One that takes long keeps nothing waiting that its thread has taken with it")
  func longOne() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let inside = CountdownLatch(2)
    let start = Gate()
    for _ in 0..<2 {
      try pool.run {
        inside.countDown()
        start.pass()
      }
    }
    inside.wait()
    // Many, so that a thread takes several at once; the first waits for all others.
    let others = CountdownLatch(200)
    let done = Gate()
    try pool.run {
      #expect(others.wait(for: .seconds(60)))
      done.open()
    }
    for _ in 0..<200 { try pool.run { others.countDown() } }
    start.open()
    #expect(done.pass())
    pool.shutDown()
  }

  @Test("Closures that give others without end hold up neither what comes from outside nor a queue")
  func fairness() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(pool: pool)
    let isOver = Atomic<Bool>(false)
    @Sendable func goOn() {
      guard !isOver.load(ordering: .relaxed) else { return }
      do {
        try pool.run { goOn() }
      } catch {
        Issue.record("\(error)")
      }
    }
    try pool.run { goOn() }
    for round in 0..<20 {
      let next = Gate()
      if round % 2 == 0 { try pool.run { next.open() } } else { try queue.add { next.open() } }
      #expect(next.pass())
    }
    isOver.store(true, ordering: .relaxed)
    pool.shutDown()
  }

  /// The thread that has given the closure does not come to it: another has to.
  @Test("A closure may wait for one that it has given, whenever the other thread falls asleep")
  func waits() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    var random = SeededGenerator(seed: 1)
    for _ in 0..<(LongTests.areOn ? 200_000 : Scale.isSanitized ? 500 : 5_000) {
      let done = Gate()
      let pause = Int.random(in: 0..<200, using: &random)
      try pool.run {
        let inner = Gate()
        for _ in 0..<pause { Processors.relax() }
        do {
          try pool.run { inner.open() }
        } catch {
          Issue.record("\(error)")
        }
        #expect(inner.pass())
        done.open()
      }
      #expect(done.pass())
    }
    pool.shutDown()
  }

  @Test("One that says it blocks has what it has given run by others, on a pool of one thread too")
  func blocks() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let journal = Journal<Int>()
    let all = CountdownLatch(10)
    let over = Gate()
    try pool.run {
      do {
        for number in 0..<10 {
          try pool.run {
            journal.append(number)
            all.countDown()
          }
        }
      } catch {
        Issue.record("\(error)")
      }
      #expect(ThreadPool.blocking { all.wait(for: .seconds(60)) })
      over.open()
    }
    over.pass()
    pool.shutDown()
    #expect(journal.entries.sorted() == Array(0..<10))
  }

  @Test("What is given to another pool runs there")
  func otherPool() throws {
    let one = try ThreadPool(name: "one", maximumThreads: 1)
    let two = try ThreadPool(name: "two", maximumThreads: 1)
    let names = Journal<String?>()
    let done = CountdownLatch(2)
    try one.run {
      do {
        for pool in [one, two] {
          try pool.run {
            names.append(ThreadHandle.current.name)
            done.countDown()
          }
        }
      } catch {
        Issue.record("\(error)")
      }
    }
    #expect(done.wait(for: .seconds(60)))
    #expect(Set(names.entries) == ["one", "two"])
    one.shutDown()
    two.shutDown()
  }

  @Test("No more run at once than the pool is wide")
  func width() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let gauge = Gauge()
    let done = CountdownLatch(400)
    for _ in 0..<20 {
      try pool.run {
        do {
          for _ in 0..<20 {
            try pool.run {
              gauge.enter()
              SystemYield.now()
              gauge.leave()
              done.countDown()
            }
          }
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    #expect(done.wait(for: .seconds(60)))
    #expect(gauge.most <= 2)
    pool.shutDown()
  }

  @Test("More than a thread can put aside goes to the others")
  func overflow() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let count = WorkDeque.capacity * 3
    let ran = AtomicCounter()
    let given = Gate()
    try pool.run {
      do {
        for _ in 0..<count { try pool.run { ran.increment() } }
      } catch {
        Issue.record("\(error)")
      }
      given.open()
    }
    given.pass()
    #expect(pool.shutDown())
    #expect(ran.value == count)
  }

  @Test("An immediate shutdown releases what closures have put aside")
  func abandoned() throws {
    let census = Census()
    let pool = try ThreadPool(maximumThreads: 1)
    let given = Gate()
    let ran = AtomicCounter()
    try pool.run {
      do {
        for _ in 0..<100 {
          let token = census.token()
          try pool.run {
            withExtendedLifetime(token) {}
            ran.increment()
          }
        }
      } catch {
        Issue.record("\(error)")
      }
      given.open()
      // Until the pool has been told to end.
      while census.count > 0 { SystemYield.now() }
    }
    given.pass()
    pool.shutDownNow()
    #expect(ran.value == 0)
    #expect(census.count == 0)
  }
}
