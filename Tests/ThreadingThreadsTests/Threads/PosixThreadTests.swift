import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingThreads

private struct Refusal: Error, Equatable { let reason: String }

private final class Counter: PosixThread<Int, Never>, @unchecked Sendable {
  override func main() -> Int { 42 }
}

private final class Failing: PosixThread<Int, Refusal>, @unchecked Sendable {
  override func main() throws(Refusal) -> Int { throw Refusal(reason: "no") }
}

/// Joins with a limit. Returns whether the limit came first.
private func gaveUp<Output, Failure>(
  on thread: PosixThread<Output, Failure>, after limit: Duration
) -> Bool {
  do {
    return try thread.join(for: limit) == nil
  } catch {
    return false
  }
}

@Suite("PosixThread", .endsInTime)
struct PosixThreadTests {
  @Test("a closure's value is what join returns")
  func value() throws {
    let thread = try PosixThread.start { (1...100).reduce(0, +) }
    #expect(try thread.join() == 5050)
  }

  @Test("the body runs on a thread of its own")
  func ownThread() throws {
    let thread = try PosixThread.start { ThreadHandle.current }
    let inside = try thread.join()
    #expect(inside === thread.handle)
    #expect(inside !== ThreadHandle.current)
    #expect(inside.kernelID != ThreadHandle.current.kernelID)
  }

  @Test("a body's error is thrown by join, with its type")
  func failure() throws {
    let thread = try PosixThread.start { () throws(Refusal) in throw Refusal(reason: "full") }
    #expect(throws: Refusal(reason: "full")) { try thread.join() }
    guard case .failure(let error) = try thread.result() else {
      Issue.record("the body threw")
      return
    }
    #expect(error.reason == "full")
  }

  @Test("a subclass runs its main()")
  func subclass() throws {
    let counter = Counter(ThreadAttributes(name: "counter"))
    try counter.start()
    #expect(try counter.join() == 42)
    let failing = Failing()
    try failing.start()
    #expect(throws: Refusal(reason: "no")) { try failing.join() }
  }

  @Test("the state is seen at each step")
  func states() throws {
    let gate = Atomic<Bool>(false)
    let thread = PosixThread { while !gate.load(ordering: .acquiring) { waitABit() } }
    #expect(thread.state == .notStarted)
    try thread.start()
    #expect(thread.state == .running)
    gate.store(true, ordering: .releasing)
    try thread.join()
    #expect(thread.state == .finished)
  }

  @Test("any number of threads join, each gets the same answer", arguments: [1, 2, 16])
  func manyJoiners(count: Int) throws {
    let gate = Atomic<Bool>(false)
    let thread = try PosixThread.start {
      while !gate.load(ordering: .acquiring) { waitABit() }
      return 7
    }
    let answers = Locked<[Int]>([])
    let ready = Atomic<Int>(0)
    try concurrently(count + 1) { index in
      if index == 0 {
        while ready.load(ordering: .acquiring) < count { waitABit() }
        gate.store(true, ordering: .releasing)
        return
      }
      ready.wrappingAdd(1, ordering: .releasing)
      let answer = try? thread.join()
      answers.withLock { $0.append(answer ?? -1) }
    }
    #expect(answers.withLock { $0 } == Array(repeating: 7, count: count))
    #expect(try thread.join() == 7)
  }

  @Test("a join with a limit answers nil at the limit, and the value once there is one")
  func timedJoin() throws {
    let gate = Atomic<Bool>(false)
    let thread = try PosixThread.start {
      while !gate.load(ordering: .acquiring) { waitABit() }
      return 3
    }
    #expect(try thread.join(for: .zero) == nil)
    let before = MonotonicInstant.now
    #expect(try thread.join(for: .milliseconds(20)) == nil)
    #expect(before.duration(to: .now) >= .milliseconds(20))
    gate.store(true, ordering: .releasing)
    #expect(try thread.join(for: .seconds(30)) == 3)
    #expect(try thread.join(for: .zero) == 3)
  }

  @Test("joiners with and without limits together all end right", arguments: 0..<4)
  func mixedJoiners(round: Int) throws {
    let gate = Atomic<Bool>(false)
    let thread = try PosixThread.start {
      while !gate.load(ordering: .acquiring) { waitABit() }
      return round
    }
    let answers = Atomic<Int>(0)
    let givenUp = Atomic<Int>(0)
    try concurrently(6) { index in
      if index.isMultiple(of: 2) {
        #expect(gaveUp(on: thread, after: .milliseconds(2 + index)))
        if givenUp.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue == 3 {
          gate.store(true, ordering: .releasing)
        }
      } else if (try? thread.join()) == round {
        answers.wrappingAdd(1, ordering: .relaxed)
      }
    }
    #expect(answers.load(ordering: .relaxed) == 3)
  }

  @Test("a thread that joins itself is refused at once")
  func selfJoin() throws {
    let thread = PosixThread { () -> String in
      guard let me = Shared.thread.withLock({ $0 }) else { return "no thread" }
      do {
        try me.join()
        return "joined"
      } catch {
        return (error as? ThreadingError)?.codeName ?? "another error"
      }
    }
    Shared.thread.withLock { $0 = thread }
    defer { Shared.thread.withLock { $0 = nil } }
    try thread.start()
    #expect(try thread.join() == "EDEADLK")
  }

  @Test("a join before the start, and after a refused start, is refused at once")
  func joinNotStarted() throws {
    let thread = PosixThread(ThreadAttributes(stackSize: 1)) {}
    let early = try #require(throws: ThreadingError.self) { try thread.join() }
    #expect(early.codeName == "ESRCH")
    #expect(early.message.contains("not started"))
    #expect(throws: ThreadingError.self) { try thread.start() }
    #expect(thread.state == .notStarted)
    #expect(throws: early) { try thread.join() }
  }

  @Test("a thread cancelled before its start runs, and sees it")
  func cancelledEarly() throws {
    let thread = PosixThread { ThreadHandle.current.isCancelled }
    thread.cancel()
    try thread.start()
    #expect(try thread.join())
  }

  @Test("cancel is seen by the running thread, with what was written before it")
  func cancel() throws {
    let note = Shared.Note()
    let thread = try PosixThread.start { () -> Int in
      while !ThreadHandle.current.isCancelled { waitABit() }
      return note.value
    }
    #expect(!thread.isCancelled)
    note.value = 12
    thread.cancel()
    #expect(thread.isCancelled)
    #expect(try thread.join() == 12)
  }

  @Test("once finished is seen, what the thread wrote is visible")
  func finishedPublishes() throws {
    for round in 0..<50 {
      let note = Shared.Note()
      let thread = try PosixThread.start { note.value = round }
      while thread.state != .finished { waitABit() }
      #expect(note.value == round)
      try thread.join()
    }
  }

  @Test("a body broken off by pthread_exit is reported to who joins")
  func brokenOff() throws {
    let thread = try PosixThread.start { () -> Int in SystemThreadReport.breakOff() }
    let error = try #require(throws: ThreadingError.self) { try thread.join() }
    #expect(error.codeName == "ECANCELED")
    #expect(thread.state == .finished)
  }

  @Test(
    "join returns after the thread-local destructors of others, limit or no limit",
    arguments: [false, true])
  func destructors(timed: Bool) throws {
    for _ in 0..<20 {
      let ended = Shared.Flag()
      let thread = try PosixThread.start { ForeignStorage.onThreadEnd { ended.set() } }
      if timed { try thread.join(for: .seconds(50)) } else { try thread.join() }
      #expect(ended.isSet)
      #expect(thread.state == .finished)
    }
  }

  @Test("a thread is finished only when the thread-local destructors of others have run")
  func finishedAfterDestructors() throws {
    for _ in 0..<20 {
      let ended = Shared.Flag()
      let handle = try PosixThread.detach { ForeignStorage.onThreadEnd { ended.set() } }
      #expect(eventually { handle.state == .finished })
      #expect(ended.isSet)
    }
  }

  @Test("exit hooks come before all thread-local destructors of the system")
  func hooksFirst() throws {
    let order = Locked<[String]>([])
    let thread = try PosixThread.start {
      ForeignStorage.beforeAllDestructors { order.withLock { $0.append("destructor") } }
      ThreadHandle.current.atEnd { order.withLock { $0.append("hook") } }
    }
    try thread.join()
    #expect(order.withLock { $0 } == ["hook", "destructor"])
  }

  @Test("starting twice stops the program")
  func startTwice() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      synchronously {
        let thread = PosixThread(ThreadAttributes(name: "twice")) {}
        try thread.start()
        try thread.join()
        try thread.start()
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("PosixThread.start"))
    #expect(text.contains("\"twice\" was started before; it is finished"))
  }

  @Test("a thread without a body stops the program")
  func noBody() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      synchronously {
        let thread = PosixThread<Int, Never>()
        try thread.start()
        try thread.join()
      }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("PosixThread.main") && text.contains("has neither a body nor a main()"))
  }

  @Test("main() called by hand stops the program")
  func mainByHand() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      PosixThread {}.main()
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("PosixThread.main: not called by the thread itself"))
  }

  @Test("a hook for the end of another thread stops the program")
  func hookOfAnother() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      PosixThread {}.handle.atEnd {}
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("ThreadHandle.atEnd: not the calling thread"))
  }
}

@Suite("Detaching", .endsInTime)
struct DetachTests {
  @Test("a detached thread runs, is watched by its handle, and cannot be joined")
  func detached() throws {
    let ran = Shared.Flag()
    let handle = try PosixThread.detach(ThreadAttributes(name: "free")) {
      ran.set()
    }
    #expect(eventually { handle.state == .finished })
    #expect(ran.isSet)

    let thread = try PosixThread.start(ThreadAttributes(isDetached: true)) {}
    let error = try #require(throws: ThreadingError.self) { try thread.join() }
    #expect(error.codeName == "EINVAL")
    #expect(error.message.contains("detached"))
  }

  @Test("detaching later ends joining; twice, and after a join, it changes nothing")
  func later() throws {
    let gate = Shared.Flag()
    let thread = try PosixThread.start { gate.wait() }
    try thread.detach()
    try thread.detach()
    #expect(throws: ThreadingError.self) { try thread.join() }
    gate.set()
    #expect(eventually { thread.state == .finished })

    let joined = try PosixThread.start { 5 }
    try joined.join()
    try joined.detach()
    #expect(try joined.join() == 5)
  }

  @Test("detaching while a joiner waits leaves that joiner its answer", arguments: [nil, 50])
  func underJoin(limit: Int?) throws {
    let gate = Shared.Flag()
    let thread = try PosixThread.start {
      gate.wait()
      return 9
    }
    let answer = Atomic<Int>(0)
    let joiner = Locked<ThreadHandle?>(nil)
    try concurrently(2) { index in
      if index == 0 {
        joiner.withLock { $0 = .current }
        let value = try? limit.map { try thread.join(for: .seconds($0)) } ?? thread.join()
        answer.store(value ?? -1, ordering: .relaxed)
      } else {
        // Detached only once the joiner sleeps in the system's join, or in its wait before that.
        _ = eventually {
          if limit == nil { return thread.isBeingJoined }
          return joiner.withLock { $0 }.map { SystemThreadReport.isAsleep($0) } == true
        }
        try? thread.detach()
        gate.set()
      }
    }
    #expect(answer.load(ordering: .relaxed) == 9)
    if limit == nil { #expect(try thread.join() == 9) }
  }

  @Test("a joiner that gives up leaves the thread to be detached")
  func afterTimedJoin() throws {
    let gate = Shared.Flag()
    let thread = try PosixThread.start { gate.wait() }
    #expect(gaveUp(on: thread, after: .milliseconds(1)))
    try thread.detach()
    let error = try #require(throws: ThreadingError.self) { try thread.join() }
    #expect(error.message.contains("detached"))
    gate.set()
    #expect(eventually { thread.state == .finished })
  }

  @Test("detaching what was not started is refused")
  func notStarted() throws {
    let thread = PosixThread {}
    let error = try #require(throws: ThreadingError.self) { try thread.detach() }
    #expect(error.codeName == "ESRCH")
  }

  @Test("thousands of threads, joined, detached or dropped, leave no threads")
  func manyThreads() async {
    // In a process of its own: the figures are those of the whole process.
    await #expect(processExitsWith: .success) { try DetachTests().checkManyThreads() }
  }

  fileprivate func checkManyThreads() throws {
    let attributes = ThreadAttributes(stackSize: 64 * 1024)
    func runMany(_ count: Int) throws {
      for index in 0..<count {
        switch index % 3 {
        case 0: try PosixThread.start(attributes) {}.join()
        case 1: try PosixThread.detach(attributes) {}
        default: _ = try PosixThread.start(attributes) {}
        }
      }
    }
    try runMany(300)
    let before = ProcessFigures.now()
    try runMany(ThreadSanitizer.isActive ? 600 : 6_000)
    // Mappings are counted in a process of its own, see ManyThreadsTests: here other tests have theirs.
    #expect(eventually { ProcessFigures.now().threads <= before.threads + 8 })
  }

  @Test("a thread whose object goes away while it runs ends and is freed")
  func dropped() throws {
    weak var object: PosixThread<Void, Never>?
    let gate = Shared.Flag()
    let handle: ThreadHandle
    do {
      let thread = try PosixThread.start { gate.wait() }
      object = thread
      handle = thread.handle
    }
    #expect(object != nil)
    gate.set()
    #expect(eventually { handle.state == .finished && object == nil })
  }
}
