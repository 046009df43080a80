import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("RunLoopExecutor", .endsInTime)
struct RunLoopExecutorTests {
  @Test("an actor's code runs on the thread of its loop, also after it has awaited something else")
  func actorOnLoop() async throws {
    let thread = try LoopThread()
    let pinned = Pinned(on: thread.loop)
    for round in 1...200 {
      #expect(await pinned.step() == thread.loop.threadID)
      #expect(await pinned.stepAfterHop() == thread.loop.threadID)
      #expect(await pinned.steps == round * 2)
    }
    await end(thread)
  }

  @Test("calls from many tasks are done one after another, none is lost")
  func manyTasks() async throws {
    let thread = try LoopThread()
    let pinned = Pinned(on: thread.loop)
    await withTaskGroup { group in
      for _ in 0..<20 {
        group.addTask { for _ in 0..<100 { _ = await pinned.step() } }
      }
    }
    #expect(await pinned.steps == 2_000)
    await end(thread)
  }

  @Test(
    "on the loop's thread the actor's code may be assumed isolated; elsewhere that stops the program"
  )
  func isolation() async throws {
    let thread = try LoopThread()
    let pinned = Pinned(on: thread.loop)
    let steps = Shared<Int?>(nil)
    thread.loop.perform { steps.set(pinned.assumeIsolated { $0.steps }) }
    #expect(steps.wait { $0 } == 0)
    #expect(pinned.executor.isIsolatingCurrentContext() == false)
    await end(thread)
    await #expect(processExitsWith: .failure) {
      let thread = try LoopThread()
      assumeIsolated(Pinned(on: thread.loop))
    }
  }

  @Test("isolation is the loop's thread: in jobs, blocks and timers there, and nowhere else")
  func isolationByThread() async throws {
    let thread = try LoopThread()
    let pinned = Pinned(on: thread.loop)
    // Another executor of the same loop: one thread, so code of both may run beside each other.
    let other = RunLoopExecutor(thread.loop)
    let answers = Shared<[Bool?]>([])
    thread.loop.perform { answers.append(other.isIsolatingCurrentContext()) }
    try thread.loop.add(
      ThreadTimer(after: .zero) { _ in
        pinned.executor.checkIsolated()
        answers.append(pinned.executor.isIsolatingCurrentContext())
      })
    answers.waitUntil { $0.count == 2 }
    answers.append(await pinned.asks(other))
    #expect(answers.value == [true, true, true])
    let second = try LoopThread()
    let secondExecutor = RunLoopExecutor(second.loop)
    #expect(await pinned.asks(secondExecutor) == false)
    await end(second)
    await end(thread)
    await #expect(processExitsWith: .failure) {
      let thread = try LoopThread()
      RunLoopExecutor(thread.loop).checkIsolated()
    }
  }

  @Test("a task that prefers the loop runs its nonisolated code there")
  func taskPreference() async throws {
    let thread = try LoopThread()
    let id = thread.loop.threadID
    let ids = await Task(executorPreference: RunLoopExecutor(thread.loop)) {
      [await currentThread(), await currentThread()]
    }.value
    #expect(ids == [id, id])
    await end(thread)
  }

  @Test("jobs that wait when the thread ends are run on it before it does")
  func jobsAtTheEnd() async throws {
    let made = Shared<ThreadRunLoop?>(nil)
    let mayEnd = Shared(false)
    let join = try SystemThread.start(.init(stackSize: 1 << 20)) {
      made.set(.current)
      mayEnd.waitUntil { $0 }
    }
    let loop = await Task { made.wait { $0 } }.value
    let pinned = Pinned(on: loop)
    async let ran = pinned.stepAfterHop()
    #expect(await eventuallyAsync { !loop.isInboxEmpty })
    mayEnd.set(true)
    #expect(await ran == loop.threadID)
    joinNow(join)
  }
}

private actor Pinned {
  nonisolated let executor: RunLoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }
  private(set) var steps = 0

  init(on loop: ThreadRunLoop) { executor = RunLoopExecutor(loop) }

  func step() -> UInt32 {
    steps += 1
    return SystemThread.currentID
  }

  func asks(_ executor: RunLoopExecutor) -> Bool? { executor.isIsolatingCurrentContext() }

  func stepAfterHop() async -> UInt32 {
    await Task.yield()
    return step()
  }
}

private nonisolated func currentThread() async -> UInt32 { SystemThread.currentID }

private func assumeIsolated(_ pinned: Pinned) { pinned.assumeIsolated { _ in } }

/// Ends a loop's thread from asynchronous code: its work is done, so the wait is short.
private func end(_ thread: LoopThread) async { thread.end() }

private func joinNow(_ thread: SystemThread) { thread.join() }
