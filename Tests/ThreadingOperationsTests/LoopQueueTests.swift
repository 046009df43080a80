import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Queues on a run loop", .endsInTime)
struct LoopQueueTests {
  /// A thread that runs its loop until it is told to end.
  private final class LoopThread: Sendable {
    let loop: ThreadRunLoop
    private let flag = ExitFlag()
    private let thread: PosixThread<Void, Never>

    init() throws {
      let flag = flag
      let ready = Gate()
      let made = Locked<ThreadRunLoop?>(nil)
      thread = try PosixThread.start(ThreadAttributes(name: "loop")) {
        made.withLock { $0 = .current }
        ready.open()
        ThreadRunLoop.current.run(until: flag)
      }
      ready.pass()
      loop = try #require(made.withLock { $0 })
    }

    func end() throws {
      flag.set()
      try thread.join()
    }
  }

  @Test("Operations run on the loop's thread, in order, with the right current queue")
  func order() throws {
    let thread = try LoopThread()
    let queue = ThreadOperationQueue(name: "interface", loop: thread.loop)
    let journal = Journal<Int>()
    let strangers = Atomic<Int>(0)
    for index in 0..<500 {
      try queue.add {
        journal.append(index)
        if ThreadHandle.current.kernelID != thread.loop.threadID
          || ThreadOperationQueue.current !== queue
        {
          strangers.wrappingAdd(1, ordering: .relaxed)
        }
      }
    }
    queue.waitForAll()
    #expect(journal.entries == Array(0..<500))
    #expect(strangers.load(ordering: .relaxed) == 0)
    try thread.end()
  }

  @Test("A barrier runs on the loop's thread, and cancelAll reaches what has not started")
  func barrierAndCancel() throws {
    let thread = try LoopThread()
    let queue = ThreadOperationQueue(loop: thread.loop)
    let onLoop = Atomic<Bool>(false)
    try queue.addBarrier {
      onLoop.store(thread.loop.isCurrent, ordering: .relaxed)
    }.wait()
    #expect(onLoop.load(ordering: .relaxed) == true)
    let runs = Atomic<Int>(0)
    let gate = Gate()
    thread.loop.perform { gate.pass() }
    for _ in 0..<3 { try queue.add { runs.wrappingAdd(1, ordering: .relaxed) } }
    queue.cancelAll()
    gate.open()
    queue.waitForAll()
    #expect(runs.load(ordering: .relaxed) == 0)
    #expect(queue.operationCount == 0)
    try thread.end()
  }

  @Test("A result that was computed on a pool goes to the loop by a dependency")
  func handover() throws {
    let thread = try LoopThread()
    let interface = ThreadOperationQueue(loop: thread.loop)
    let work = ThreadOperationQueue()
    let sum = ResultOperation { (1...100).reduce(0, +) }
    let shown = Locked(0)
    let show = ClosureOperation {
      if case .success(let value) = sum.result { shown.withLock { $0 = value } }
    }
    try show.addDependency(sum)
    try interface.add(show)
    try work.add(sum)
    show.wait()
    #expect(shown.withLock { $0 } == 5_050)
    try thread.end()
  }

  @Test("A long line of operations does not keep the loop from its timers")
  func responsive() throws {
    let thread = try LoopThread()
    let queue = ThreadOperationQueue(loop: thread.loop)
    let fired = Atomic<Bool>(false)
    let before = Atomic<Int>(0)
    let gate = Gate()
    thread.loop.perform { gate.pass() }
    for _ in 0..<50 {
      try queue.add {
        if !fired.load(ordering: .relaxed) { before.wrappingAdd(1, ordering: .relaxed) }
        let end = MonotonicInstant.now.advanced(by: .milliseconds(1))
        while MonotonicInstant.now < end {}
      }
    }
    let timer = try ThreadTimer(after: .milliseconds(5)) { _ in
      fired.store(true, ordering: .relaxed)
    }
    try thread.loop.add(timer)
    gate.open()
    queue.waitForAll()
    #expect(fired.load(ordering: .relaxed) == true)
    #expect(before.load(ordering: .relaxed) < 45)
    try thread.end()
  }

  @Test("When the loop's thread ends, its operations are cancelled and waits go on")
  func loopEnds() throws {
    let census = Census()
    let thread = try LoopThread()
    let queue = ThreadOperationQueue(loop: thread.loop)
    queue.suspend()
    let never = ClosureOperation {}
    let waiting = ClosureOperation {}
    try waiting.addDependency(never)
    try queue.add(waiting)
    do {
      let token = census.token()
      try queue.add { withExtendedLifetime(token) {} }
    }
    try thread.end()
    queue.resume()
    #expect(queue.waitForAll(for: .seconds(30)))
    #expect(waiting.isCancelled)
    #expect(census.count == 0)
    let error = #expect(throws: ThreadOperationError.self) { try queue.add {} }
    #expect(error?.reason == .poolIsShutDown)
  }

  /// Has `body` called at the moment when `operation` has lost its last dependency and its queue has not been
  /// told yet: in the completion block of another dependant, whose loop has ended and which is cancelled
  /// for that, on the thread that finishes the dependency.
  private func atTheEndOfDependencies(
    of operation: ThreadOperation, _ body: @escaping @Sendable () throws -> Void
  ) throws {
    let thread = try LoopThread()
    let ended = ThreadOperationQueue(loop: thread.loop)
    let dependency = ClosureOperation {}
    let wedge = ClosureOperation {}
    try wedge.addDependency(dependency)
    try operation.addDependency(dependency)
    let called = Journal<Bool>()
    wedge.addCompletion { _ in
      do {
        try body()
        called.append(true)
      } catch {
        Issue.record("\(error)")
      }
    }
    try ended.add(wedge)
    try thread.end()
    let queue = ThreadOperationQueue()
    try queue.add(operation)
    try dependency.start()
    #expect(called.entries == [true])
    #expect(queue.waitForAll(for: .seconds(30)))
  }

  @Test("A dependency added when the last one has just gone is waited for")
  func addedAtTheEnd() throws {
    let late = ClosureOperation {}
    let wasLate = Journal<Bool>()
    let operation = ClosureOperation { wasLate.append(late.isFinished) }
    try atTheEndOfDependencies(of: operation) {
      try operation.addDependency(late)
      try late.delay(for: .milliseconds(20))
      try ThreadOperationQueue().add(late)
    }
    #expect(wasLate.entries == [true])
  }

  @Test("One that has run meanwhile does not run again when its queue is told late")
  func toldLate() throws {
    let runs = Atomic<Int>(0)
    let late = ClosureOperation {}
    let operation = ClosureOperation { runs.wrappingAdd(1, ordering: .relaxed) }
    try atTheEndOfDependencies(of: operation) {
      try operation.addDependency(late)
      try late.start()
      operation.wait()
    }
    #expect(runs.load(ordering: .relaxed) == 1)
    #expect(operation.isFinished)
  }

  @Test("Waiting on the loop's thread for what is to run there stops the program")
  func ownThread() async {
    await #expect(processExitsWith: .failure) {
      try Deadlock.onLoop { queue, _ in queue.waitForAll() }
    }
    await #expect(processExitsWith: .failure) {
      try Deadlock.onLoop { _, operation in operation.wait() }
    }
  }

  private enum Deadlock {
    static func onLoop(
      _ body: @escaping @Sendable (ThreadOperationQueue, ThreadOperation) -> Void
    ) throws {
      let thread = try LoopThread()
      let queue = ThreadOperationQueue(loop: thread.loop)
      thread.loop.perform {
        do {
          body(queue, try queue.add {})
        } catch {}
      }
      let never = Open()
      try never.start()
      _ = never.wait(for: .seconds(20))
    }
  }
}
