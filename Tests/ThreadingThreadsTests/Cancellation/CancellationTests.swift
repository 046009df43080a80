import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform
import ThreadingThreads

@Suite("Cancellation", .endsInTime)
struct CancellationTests {
  @Test("checkCancellation throws with the first reason, and only once there was a request")
  func check() throws {
    let gate = Shared.Flag()
    let thread = try PosixThread.start { () throws(ThreadCancelled) -> Int in
      try ThreadHandle.checkCancellation()
      gate.wait()
      try ThreadHandle.checkCancellation()
      return 1
    }
    thread.cancel(reason: "no longer wanted")
    thread.cancel(reason: "another reason")
    gate.set()
    #expect(throws: ThreadCancelled(reason: "no longer wanted")) { try thread.join() }
    #expect(thread.handle.cancellationReason == "no longer wanted")
  }

  @Test("a thread of other origin is not cancelled, with and without a handle")
  func foreign() throws {
    let outcomes = Locked<[Bool]>([])
    try concurrently(1) { _ in
      let early = (try? ThreadHandle.checkCancellation()) != nil
      let me = ThreadHandle.current
      let idle = (try? ThreadHandle.checkCancellation()) != nil
      me.cancel()
      let late = (try? ThreadHandle.checkCancellation()) != nil
      outcomes.withLock { $0 = [early, idle, late] }
    }
    #expect(outcomes.withLock { $0 } == [true, true, false])
  }

  @Test("the main thread finds itself cancelled before it has asked for its handle")
  func mainWithoutHandle() {
    let answer = ProbeProgram.run("threads-probe", ["cancel-main"])
    #expect(answer.status == 0)
    #expect(answer.output == "enough\n")
  }

  @Test("a sleep ends when the thread is cancelled, and not before")
  func sleep() throws {
    let thread = try PosixThread.start { () throws(ThreadCancelled) -> Void in
      try ThreadHandle.sleep(for: .seconds(600))
    }
    #expect(eventually { SystemThreadReport.isAsleep(thread.handle) })
    thread.cancel(reason: "wake up")
    #expect(throws: ThreadCancelled(reason: "wake up")) { try thread.join() }
  }

  @Test("a sleep that nobody ends lasts as long as asked, and one in a cancelled thread not at all")
  func sleepToEnd() throws {
    let thread = try PosixThread.start { () throws(ThreadCancelled) -> Duration in
      let before = MonotonicInstant.now
      try ThreadHandle.sleep(for: .milliseconds(20))
      try ThreadHandle.sleep(for: .milliseconds(1))
      try ThreadHandle.sleep(for: .zero)
      return before.duration(to: .now)
    }
    #expect(try thread.join() >= .milliseconds(21))
    let cancelled = PosixThread { () throws(ThreadCancelled) -> Void in
      try ThreadHandle.sleep(for: .seconds(600))
    }
    cancelled.cancel()
    try cancelled.start()
    #expect(throws: ThreadCancelled()) { try cancelled.join() }
  }

  @Test("cancelling a thread that falls asleep just then always wakes it", arguments: [200])
  func sleepRace(rounds: Int) throws {
    for _ in 0..<rounds {
      let thread = try PosixThread.start { () -> Bool in
        (try? ThreadHandle.sleep(for: .seconds(600))) == nil
      }
      thread.cancel()
      #expect(try thread.join())
    }
  }

  @Test("handlers are called once, in order, by the thread that cancels")
  func handlers() throws {
    let calls = Locked<[String]>([])
    let thread = PosixThread {}
    for index in 0..<3 {
      thread.handle.onCancel {
        let isHere = ThreadHandle.current !== thread.handle
        calls.withLock { $0.append("\(index) \(isHere)") }
      }
    }
    let removed = thread.handle.onCancel { calls.withLock { $0.append("removed") } }
    removed.remove()
    removed.remove()
    thread.cancel()
    thread.cancel()
    thread.handle.onCancel { calls.withLock { $0.append("late") } }
    #expect(calls.withLock { $0 } == ["0 true", "1 true", "2 true", "late"])
    try thread.start()
    try thread.join()
  }

  @Test("remove waits for a handler that is being called, but not inside it")
  func removeWaits() throws {
    let thread = PosixThread {}
    let inside = Shared.Flag()
    let gate = Shared.Flag()
    let ended = Shared.Flag()
    let own = Locked<CancellationHandler?>(nil)
    let handler = thread.handle.onCancel {
      own.withLock { $0 }?.remove()
      inside.set()
      gate.wait()
      ended.set()
    }
    own.withLock { $0 = handler }
    let join = try inBackground { thread.cancel() }
    inside.wait()
    let remover = try PosixThread.start { () -> Bool in
      handler.remove()
      return ended.isSet
    }
    #expect(eventually { SystemThreadReport.isAsleep(remover.handle) })
    gate.set()
    #expect(try remover.join())
    join()
    own.withLock { $0 = nil }
  }

  @Test("a wait of another kind ends by a handler, which is gone afterwards")
  func scopedHandler() throws {
    let queue = Shared.Gate()
    let thread = try PosixThread.start { () -> Bool in
      ThreadHandle.withCancellationHandler({ queue.open() }) { queue.wait() }
      return ThreadHandle.current.isCancelled
    }
    #expect(eventually { SystemThreadReport.isAsleep(thread.handle) })
    thread.cancel()
    #expect(try thread.join())

    let calls = Atomic<Int>(0)
    let other = try PosixThread.start {
      ThreadHandle.withCancellationHandler({ calls.wrappingAdd(1, ordering: .relaxed) }) {}
      ThreadHandle.current.cancel()
    }
    try other.join()
    #expect(calls.load(ordering: .relaxed) == 0)
  }

  @Test("handlers of an ended thread are let go of")
  func dropped() throws {
    let before = Shared.Counted.alive.load(ordering: .relaxed)
    let thread = PosixThread {}
    do {
      let counted = Shared.Counted()
      thread.handle.onCancel { withExtendedLifetime(counted) {} }
    }
    #expect(Shared.Counted.alive.load(ordering: .relaxed) > before)
    try thread.start()
    try thread.join()
    #expect(eventually { Shared.Counted.alive.load(ordering: .relaxed) <= before })
  }

  @Test("cancelling from many threads at once calls each handler once", arguments: 1...10)
  func race(round: Int) throws {
    let thread = PosixThread {}
    let calls = Atomic<Int>(0)
    let added = Atomic<Int>(0)
    try concurrently(4) { index in
      if index < 2 {
        thread.cancel(reason: "\(index)")
      } else {
        for _ in 0..<50 {
          thread.handle.onCancel { calls.wrappingAdd(1, ordering: .relaxed) }
          added.wrappingAdd(1, ordering: .relaxed)
        }
      }
    }
    #expect(calls.load(ordering: .relaxed) == 100)
    #expect(["0", "1"].contains(thread.handle.cancellationReason))
  }

  @Test("a handler that is called because the thread is cancelled already sees that it is")
  func handlerSeesRequest() throws {
    let handles = (0..<2_000).map { _ in PosixThread<Void, Never> {}.handle }
    let arrived = Atomic<Int>(0)
    let unaware = Atomic<Int>(0)
    try concurrently(2) { index in
      for (round, handle) in handles.enumerated() {
        arrived.wrappingAdd(1, ordering: .relaxed)
        while arrived.load(ordering: .relaxed) < 2 * (round + 1) { SystemThread.yield() }
        if index == 0 { handle.cancel() }
        while !handle.isCancelled {
          let handler = handle.onCancel {
            if !handle.isCancelled { unaware.wrappingAdd(1, ordering: .relaxed) }
          }
          handler.remove()
        }
      }
    }
    #expect(unaware.load(ordering: .relaxed) == 0)
  }

  @Test("a handler for a thread that has ended is not kept")
  func handlerOfEndedThread() throws {
    let thread = try PosixThread.start {}
    try thread.join()
    weak var kept: Shared.Counted?
    do {
      let counted = Shared.Counted()
      kept = counted
      thread.handle.onCancel { _ = counted }
    }
    #expect(kept == nil)
  }
}
