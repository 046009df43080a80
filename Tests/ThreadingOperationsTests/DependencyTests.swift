import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Dependencies", .endsInTime)
struct DependencyTests {
  @Test("An operation starts after its dependencies, across queues and by hand")
  func across() throws {
    let journal = Journal<Int>()
    let one = ThreadOperationQueue(name: "one", width: 2)
    let two = ThreadOperationQueue(name: "two", width: 2)
    let operations = (0..<4).map { index in
      ClosureOperation(name: "\(index)") { journal.append(index) }
    }
    for index in 1..<4 { try operations[index].addDependency(operations[index - 1]) }
    try one.add(operations[3])
    try two.add(operations[2])
    try one.add(operations[1])
    #expect(operations[3].state == .pending)
    #expect(operations[3].dependencies.map(\.name) == ["2"])
    try operations[0].start()
    operations[3].wait()
    #expect(journal.entries == [0, 1, 2, 3])
    #expect(operations[3].dependencies.isEmpty)
  }

  @Test("A cancelled or failed dependency releases its dependants as any other")
  func anyEnd() throws {
    let queue = ThreadOperationQueue()
    let cancelled = ClosureOperation {}
    let failed = ClosureOperation { throw Oops(code: 1) }
    let after = ClosureOperation {}
    try after.addDependency(cancelled)
    try after.addDependency(failed)
    cancelled.cancel()
    try queue.add(contentsOf: [after, cancelled, failed])
    after.wait()
    #expect(after.error == nil)
  }

  @Test(
    "One that would go on at once on its dependency's thread obeys suspension, width and barriers")
  func successor() throws {
    for hold in 0..<4 {
      let queue = ThreadOperationQueue(width: 1)
      let journal = Journal<String>()
      let first = ClosureOperation {
        switch hold {
        case 0: queue.suspend()
        case 1: queue.width = 0
        default: break
        }
        journal.append("first")
      }
      let second = ClosureOperation { journal.append("second") }
      second.priority = .low
      try second.addDependency(first)
      queue.suspend()
      try queue.add(first)
      if hold == 2 { try queue.addBarrier { journal.append("barrier") } }
      try queue.add(second)
      // Ready before it, and of a higher priority.
      if hold == 3 { try queue.add { journal.append("other") } }
      queue.resume()
      first.wait()
      switch hold {
      case 0, 1:
        #expect(!second.wait(for: .milliseconds(20)))
        #expect(!second.isExecuting)
        if hold == 0 { queue.resume() } else { queue.width = 1 }
        queue.waitForAll()
        #expect(journal.entries == ["first", "second"])
      case 2:
        queue.waitForAll()
        #expect(journal.entries == ["first", "barrier", "second"])
      default:
        queue.waitForAll()
        #expect(journal.entries == ["first", "other", "second"])
      }
    }
  }

  @Test(
    "A dependency added at the moment when the last one goes is waited for, or refused",
    arguments: 1...2)
  func addedAtTheLastMoment(width: Int) throws {
    let queue = ThreadOperationQueue(width: width)
    var random = SeededGenerator(seed: UInt64(width))
    let early = AtomicCounter()
    var waited = 0
    for round in 0..<(Scale.isSanitized ? 500 : 5_000) {
      let first = ClosureOperation {}
      let late = ClosureOperation {}
      let runs = AtomicCounter()
      let added = AtomicFlag()
      let second = ClosureOperation {
        runs.increment()
        if added.isSet, !late.isFinished { early.increment() }
      }
      try second.addDependency(first)
      try queue.add(contentsOf: [first, second])
      for _ in 0..<Int.random(in: 0..<150, using: &random) { Processors.relax() }
      do throws(ThreadOperationError) {
        try second.addDependency(late)
        _ = added.testAndSet()
        waited += 1
        if round % 2 == 0 { first.wait() }
        #expect(late.isFinished || !second.isFinished)
      } catch {
        #expect(error.reason == .hasStarted)
      }
      try late.start()
      #expect(second.wait(for: .seconds(60)))
      #expect(runs.value == 1)
    }
    #expect(early.value == 0)
    // Both come about; not under a sanitizer, where this thread may be too late each time.
    #expect(Scale.isSanitized || waited > 0)
  }

  /// The moment between the end of an operation's work and its thread's look for what is next: the operation lets
  /// go of its own dependency then, whose deinitialiser is the test's.
  @Test(
    "What gets another dependency when the thread of its first would go on with it waits, and runs once",
    arguments: [false, true])
  func successorTakenAway(endsAtOnce: Bool) throws {
    final class Hook: ThreadOperation, @unchecked Sendable {
      let atEnd = Locked<(@Sendable () -> Void)?>(nil)
      deinit { atEnd.withLock { $0 }?() }
    }
    let queue = ThreadOperationQueue(width: 2)
    let late = ClosureOperation {}
    let runs = AtomicCounter()
    let early = AtomicCounter()
    let second = ClosureOperation {
      if !late.isFinished { early.increment() }
      runs.increment()
    }
    let first = ClosureOperation {}
    try second.addDependency(first)
    do {
      let hook = Hook()
      hook.atEnd.withLock {
        $0 = { [unowned second] in
          do throws(ThreadOperationError) {
            try second.addDependency(late)
            guard endsAtOnce else { return }
            try late.start()
          } catch {
            Issue.record("\(error)")
          }
        }
      }
      try first.addDependency(hook)
      try hook.start()
      // Only `first` keeps it now.
    }
    try queue.add(contentsOf: [first, second])
    #expect(first.wait(for: .seconds(60)))
    if !endsAtOnce {
      #expect(second.state == .pending)
      try late.start()
    }
    #expect(queue.waitForAll(for: .seconds(60)))
    #expect(runs.value == 1)
    #expect(early.value == 0)
  }

  @Test(
    "A fan over two queues: all between wait for the first, the last one for all of them",
    arguments: [1, 2])
  func fanOverQueues(width: Int) throws {
    let queues = [
      ThreadOperationQueue(name: "even", width: width),
      ThreadOperationQueue(name: "odd", width: width),
    ]
    let gauges = [Gauge(), Gauge()]
    let count = Scale.isSanitized ? 200 : 2_000
    for firstIn in 0..<2 {
      let isOpen = AtomicFlag()
      let between = AtomicCounter()
      let early = AtomicCounter()
      let first = ClosureOperation { _ = isOpen.testAndSet() }
      let seen = Locked(-1)
      let last = ClosureOperation { seen.withLock { $0 = between.value } }
      for number in 0..<count {
        let gauge = gauges[number % 2]
        let operation = ClosureOperation {
          gauge.enter()
          if !isOpen.isSet { early.increment() }
          between.increment()
          gauge.leave()
        }
        try operation.addDependency(first)
        try last.addDependency(operation)
        try queues[number % 2].add(operation)
      }
      try queues[1 - firstIn].add(last)
      #expect(last.state == .pending)
      try queues[firstIn].add(first)
      #expect(last.wait(for: .seconds(60)))
      #expect(seen.withLock { $0 } == count)
      #expect(early.value == 0)
      for queue in queues {
        #expect(queue.waitForAll(for: .seconds(60)))
        #expect(queue.operationCount == 0)
      }
    }
    for gauge in gauges { #expect((1...width).contains(gauge.most)) }
  }

  @Test("Removing the only unfinished dependency makes a queued operation run at once")
  func removal() throws {
    let never = ClosureOperation {}
    let operation = ClosureOperation {}
    try operation.addDependency(never)
    let queue = ThreadOperationQueue()
    try queue.add(operation)
    #expect(!operation.wait(for: .milliseconds(5)))
    try operation.removeDependency(never)
    operation.wait()
    #expect(never.state == .pending)
    let error = #expect(throws: ThreadOperationError.self) {
      try operation.removeDependency(never)
    }
    #expect(error?.reason == .hasStarted)
  }

  @Test(
    "Dependencies that come, go and finish at random leave what a plain list says",
    arguments: 1...20)
  func edgesAtRandom(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let census = Census()
    do {
      let queue = ThreadOperationQueue(width: 1)
      queue.suspend()
      func make(_ name: String) -> ClosureOperation {
        let token = census.token()
        return ClosureOperation(name: name) { withExtendedLifetime(token) {} }
      }
      let sources = (0..<5).map { make("source \($0)") }
      let sinks = (0..<5).map { make("sink \($0)") }
      /// What each sink was given, the oldest first.
      var given = [[Int]](repeating: [], count: sinks.count)
      var queued: Set<Int> = []
      for _ in 0..<120 {
        let sink = Int.random(in: 0..<5, using: &random)
        let source = Int.random(in: 0..<5, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<11:
          try sinks[sink].addDependency(sources[source])
          if !sources[source].isFinished { given[sink].append(source) }
        case 11..<17:
          try sinks[sink].removeDependency(sources[source])
          given[sink].removeAll { $0 == source }
        case 17:
          if !sources[source].isFinished { try sources[source].start() }
        case 18:
          if queued.insert(sink).inserted { try queue.add(sinks[sink]) }
        default:
          sinks[sink].priority = .high
        }
        for (sink, numbers) in zip(sinks, given) {
          var once: [Int] = []
          for number in numbers where !once.contains(number) { once.append(number) }
          #expect(sink.dependencies.map(\.name) == once.map { "source \($0)" })
          #expect(sink.isReady == once.allSatisfy { sources[$0].isFinished })
        }
      }
      // Some are cancelled with what they wait for, some are never run.
      sinks[0].cancel()
      queue.resume()
      for source in sources.dropLast() where !source.isFinished { try source.start() }
      for (number, sink) in sinks.enumerated() where queued.contains(number) {
        let waits = number != 0 && given[number].contains(4) && !sources[4].isFinished
        if waits { #expect(!sink.isReady) } else { #expect(sink.wait(for: .seconds(60))) }
      }
      for number in queued { try? sinks[number].removeDependency(sources[4]) }
      #expect(queue.waitForAll(for: .seconds(60)))
    }
    #expect(eventually { census.count == 0 })
  }

  @Test("A dependency added twice is removed by one call")
  func twice() throws {
    let first = ClosureOperation {}
    let second = ClosureOperation {}
    try second.addDependency(first)
    try second.addDependency(first)
    #expect(second.dependencies.count == 1)
    try second.removeDependency(first)
    #expect(second.dependencies.isEmpty)
    try second.start()
    try first.start()
  }

  @Test("A dependency may be added to an operation that is ready but has not started")
  func addedToReady() throws {
    let journal = Journal<String>()
    let queue = ThreadOperationQueue(width: 1)
    queue.suspend()
    let operation = try queue.add { journal.append("operation") }
    #expect(operation.state == .ready)
    let late = ClosureOperation { journal.append("late") }
    try operation.addDependency(late)
    #expect(operation.state == .pending)
    queue.resume()
    #expect(!operation.wait(for: .milliseconds(5)))
    try queue.add(late)
    operation.wait()
    #expect(journal.entries == ["late", "operation"])
  }

  @Test("Dependants that are dropped before their dependency finishes are just gone")
  func droppedDependants() throws {
    let census = Census()
    let first = ClosureOperation {}
    for _ in 0..<20 {
      let token = census.token()
      let dependant = ClosureOperation { withExtendedLifetime(token) {} }
      try dependant.addDependency(first)
    }
    #expect(census.count == 0)
    try first.start()
    #expect(first.isFinished)
  }

  @Test("A rolling chain keeps nothing alive but what its user holds")
  func rollingChain() throws {
    let census = Census()
    let queue = ThreadOperationQueue(width: 2)
    final class Counted: ThreadOperation, @unchecked Sendable {
      let token: Census.Token
      init(_ token: Census.Token) {
        self.token = token
        super.init()
      }
    }
    var last = Counted(census.token())
    try queue.add(last)
    for _ in 0..<2_000 {
      let next = Counted(census.token())
      try next.addDependency(last)
      try queue.add(next)
      last = next
    }
    last.wait()
    #expect(eventually { census.count == 1 })
  }

  // MARK: Cycles

  @Test("Depending on oneself is refused")
  func itself() throws {
    let operation = ClosureOperation(name: "narcissus") {}
    let error = #expect(throws: ThreadOperationError.self) {
      try operation.addDependency(operation)
    }
    #expect(error?.reason == .dependencyCycle)
    #expect(error?.description.contains("narcissus") == true)
    try operation.start()
  }

  @Test("The call that closes a cycle is refused and names the way round")
  func cycles() throws {
    let a = ClosureOperation(name: "a") {}
    let b = ClosureOperation(name: "b") {}
    let c = ClosureOperation(name: "c") {}
    try a.addDependency(b)
    let two = #expect(throws: ThreadOperationError.self) { try b.addDependency(a) }
    #expect(two?.reason == .dependencyCycle)
    try b.addDependency(c)
    let three = #expect(throws: ThreadOperationError.self) { try c.addDependency(a) }
    #expect(three?.description.contains("c -> a -> b -> c") == true)
    #expect(c.dependencies.isEmpty)
    let one = ThreadOperationQueue()
    let other = ThreadOperationQueue()
    try one.add(a)
    try other.add(b)
    let queued = #expect(throws: ThreadOperationError.self) { try c.addDependency(b) }
    #expect(queued?.reason == .dependencyCycle)
    try one.add(c)
    a.wait()
    #expect(one.operationCount == 0)
    #expect(other.operationCount == 0)
  }

  @Test("A cycle that is closed after queueing is refused, and the queue stays usable")
  func closedLate() throws {
    let queue = ThreadOperationQueue(width: 2)
    queue.suspend()
    let a = try queue.add {}
    let b = ClosureOperation {}
    try b.addDependency(a)
    try queue.add(b)
    #expect(throws: ThreadOperationError.self) { try a.addDependency(b) }
    #expect(a.state == .ready)
    queue.resume()
    #expect(queue.waitForAll(for: .seconds(30)))
  }

  @Test("A ready operation keeps its place in its queue when a dependency is refused")
  func placeKept() throws {
    let queue = ThreadOperationQueue(width: 1)
    let order = Locked<[String]>([])
    queue.suspend()
    let first = ClosureOperation { order.withLock { $0.append("first") } }
    let second = ClosureOperation { order.withLock { $0.append("second") } }
    try queue.add(contentsOf: [first, second])
    let other = ClosureOperation {}
    try other.addDependency(first)
    let error = try #require(throws: ThreadOperationError.self) { try first.addDependency(other) }
    #expect(error.reason == .dependencyCycle)
    queue.resume()
    queue.waitForAll()
    #expect(order.withLock { $0 } == ["first", "second"])
    try other.start()
    #expect(other.isFinished)
  }

  @Test("Of threads that close one cycle together, at least one is refused and nothing hangs")
  func racingCycles() throws {
    let queue = ThreadOperationQueue(width: 2)
    for _ in 0..<300 {
      let ring = (0..<3).map { index in ClosureOperation(name: "\(index)") {} }
      let refusals = Atomic<Int>(0)
      try concurrently(3) { index in
        do {
          try ring[index].addDependency(ring[(index + 1) % 3])
        } catch {
          refusals.wrappingAdd(1, ordering: .relaxed)
        }
      }
      #expect(refusals.load(ordering: .relaxed) == 1)
      try queue.add(contentsOf: ring)
      #expect(queue.waitForAll(for: .seconds(30)))
    }
  }

  @Test("Building a chain in any order finds no cycle")
  func anyOrder() throws {
    var random = SeededGenerator(seed: 11)
    let count = 2_000
    let operations = (0..<count).map { _ in ClosureOperation {} }
    for index in (1..<count).shuffled(using: &random) {
      try operations[index].addDependency(operations[index - 1])
    }
    #expect(throws: ThreadOperationError.self) {
      try operations[0].addDependency(operations[count - 1])
    }
    let queue = ThreadOperationQueue()
    try queue.add(contentsOf: operations)
    queue.waitForAll()
  }

  // MARK: Size

  @Test("A chain of a million operations is run and freed on a stack of 512 KiB")
  func longChainRun() throws {
    try onSmallStack {
      let queue = try ThreadOperationQueue(
        name: "small", width: 1, attributes: ThreadAttributes(stackSize: 512 << 10))
      let count = Scale.million
      let runs = Atomic<Int>(0)
      var last = ClosureOperation { runs.wrappingAdd(1, ordering: .relaxed) }
      let first = last
      for _ in 1..<count {
        let next = ClosureOperation { runs.wrappingAdd(1, ordering: .relaxed) }
        try next.addDependency(last)
        try queue.add(next)
        last = next
      }
      try queue.add(first)
      last.wait()
      #expect(runs.load(ordering: .relaxed) == count)
    }
  }

  @Test("A chain of a million operations that never ran is freed on a stack of 512 KiB")
  func longChainDropped() throws {
    try onSmallStack {
      var last = ClosureOperation {}
      for _ in 1..<Scale.million {
        let next = ClosureOperation {}
        try next.addDependency(last)
        last = next
      }
    }
  }

  @Test("A chain of a million operations is cancelled and freed on a stack of 512 KiB")
  func longChainCancelled() throws {
    try onSmallStack {
      let queue = ThreadOperationQueue(width: 2)
      queue.suspend()
      var last = ClosureOperation {}
      try queue.add(last)
      for _ in 1..<Scale.million {
        let next = ClosureOperation {}
        try next.addDependency(last)
        try queue.add(next)
        last = next
      }
      queue.cancelAll()
      queue.resume()
      queue.waitForAll()
    }
  }

  private func onSmallStack(_ body: @escaping @Sendable () throws -> Void) throws {
    let thread = PosixThread<Void, any Error>(ThreadAttributes(stackSize: 512 << 10), body: body)
    try thread.start()
    try thread.join()
  }

  @Test("Adding operations that wait for one gate costs the same however many wait already")
  func manyBlocked() throws {
    func add(_ count: Int) throws -> Duration {
      let queue = ThreadOperationQueue(width: 1)
      let gate = ClosureOperation {}
      let duration = try OwnTime.of {
        for _ in 0..<count {
          let operation = ClosureOperation {}
          try operation.addDependency(gate)
          try queue.add(operation)
        }
      }
      try gate.start()
      queue.waitForAll()
      return duration
    }
    _ = try add(1_000)
    let few = try (0..<5).map { _ in try add(1_000) }.min()!
    let many = try (0..<2).map { _ in try add(64_000) }.min()!
    // 64 times as many: linear is 64, quadratic 4,096.
    #expect(many < few * 512, "\(few) for 1,000 and \(many) for 64,000")
  }
}
