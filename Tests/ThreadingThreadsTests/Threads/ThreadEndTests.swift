import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

private struct Spoiled: Error, Equatable { let number: Int }

/// What a wait threw, if anything.
private func failure(_ body: () async throws -> Void) async -> (any Error)? {
  do {
    try await body()
    return nil
  } catch {
    return error
  }
}

@Suite("Waiting for threads in asynchronous code", .endsInTime)
struct ThreadEndTests {
  @Test("tasks that wait for threads take none of the threads that run tasks")
  func manyTasks() async throws {
    let gate = Shared.Gate()
    let threads = try (0..<50).map { index in
      try PosixThread.start(ThreadAttributes(stackSize: 64 << 10)) {
        gate.wait()
        return index
      }
    }
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for thread in threads {
        group.addTask { try await thread.value }
        group.addTask { try await thread.value }
      }
      // The last to come to a thread: more tasks wait before it than there are threads for them.
      group.addTask {
        gate.open()
        return 0
      }
      return try await group.reduce(0, +)
    }
    #expect(sum == 2 * 49 * 50 / 2)
    for (index, thread) in threads.enumerated() {
      // Known at once, again and again, and by a join.
      #expect(try await thread.value == index)
      let joined = try synchronouslyReturning { try thread.join() }
      #expect(joined == index)
      #expect(try await thread.value == index)
    }
  }

  @Test("the task goes on after all of the thread's end, and sees what the thread wrote")
  func order() async throws {
    for _ in 0..<20 {
      let note = Shared.Note()
      let thread = try PosixThread.start {
        ThreadDictionary.current["late"] = AtRelease { note.value += 1 }
        ThreadHandle.current.atEnd { note.value += 10 }
        ForeignStorage.onThreadEnd { note.value += 100 }
      }
      try await thread.value
      #expect(note.value == 111)
      #expect(thread.state == .finished)
    }
  }

  @Test("the body's error is thrown, to each who asks")
  func errors() async throws {
    let thread = try PosixThread<Int, Spoiled>.start { () throws(Spoiled) in
      throw Spoiled(number: 7)
    }
    for _ in 0..<2 {
      #expect(await failure { _ = try await thread.value } as? Spoiled == Spoiled(number: 7))
    }
  }

  @Test("where there is nothing to wait for, the error says so")
  func nothing() async throws {
    let idle = PosixThread(ThreadAttributes(name: "idle")) {}
    let idleError = await failure { try await idle.value } as? ThreadingError
    #expect(idleError?.codeName == "ESRCH" && idleError?.call == "PosixThread.value")
    #expect(idleError?.message.contains("was not started") == true)
    let handleError = await failure { try await idle.handle.waitForEnd() } as? ThreadingError
    #expect(handleError?.call == "ThreadHandle.waitForEnd")

    let gate = Shared.Gate()
    let detached = try PosixThread.start { gate.wait() }
    try detached.detach()
    let detachedError = await failure { try await detached.value } as? ThreadingError
    #expect(detachedError?.codeName == "EINVAL")
    gate.open()
    // By its handle it can be awaited.
    try await detached.handle.waitForEnd()
    #expect(detached.state == .finished)

    let broken = try PosixThread<Void, Never>.start { SystemThreadReport.breakOff() }
    let brokenError = await failure { try await broken.value } as? ThreadingError
    #expect(brokenError?.codeName == "ECANCELED")
    // It has let go of nothing: what is left of it goes with a join.
    func joinError() -> ThreadingError? {
      do throws(ThreadingError) {
        try broken.join()
        return nil
      } catch { return error }
    }
    #expect(joinError()?.codeName == "ECANCELED")
  }

  @Test("a task that is cancelled goes on at once, and the thread is as before")
  func cancelled() async throws {
    let gate = Shared.Gate()
    let thread = try PosixThread.start {
      gate.wait()
      return ThreadHandle.current.isCancelled
    }
    let waiting = Task { try await thread.value }
    let patient = Task { try await thread.value }
    // Cancelled before it waits, or while it does.
    await Task.yield()
    waiting.cancel()
    #expect(await failure { _ = try await waiting.value } is CancellationError)
    #expect(thread.state == .running)
    let late = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await thread.value
    }
    #expect(await failure { _ = try await late.value } is CancellationError)
    gate.open()
    #expect(try await patient.value == false)
    // A cancelled task gets what is there.
    let after = Task {
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return try await thread.value
    }
    #expect(try await after.value == false)
  }

  @Test("waits that are given up do not pile up in the thread's handle")
  func givenUp() async throws {
    let gate = Shared.Gate()
    let thread = try PosixThread.start { gate.wait() }
    for _ in 0..<500 {
      let task = Task { try await thread.value }
      await Task.yield()
      task.cancel()
      _ = await task.result
    }
    #expect(thread.handle.watcherCount <= 64)
    gate.open()
    try await thread.value
  }

  @Test("ends, cancellations and waits that meet leave no task behind", arguments: [1, 2, 3])
  func stress(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    for round in 0..<150 {
      let spins = Int.random(in: 0..<2_000, using: &random)
      let thread = try PosixThread.start(ThreadAttributes(stackSize: 64 << 10)) {
        for _ in 0..<spins { Processors.relax() }
        return round
      }
      let tasks = (0..<4).map { _ in Task { try await thread.value } }
      let doomed = Int.random(in: 0..<4, using: &random)
      for _ in 0..<Int.random(in: 0..<500, using: &random) { Processors.relax() }
      tasks[doomed].cancel()
      for (index, task) in tasks.enumerated() {
        switch await task.result {
        case .success(let value): #expect(value == round)
        case .failure(let error): #expect(index == doomed && error is CancellationError)
        }
      }
    }
  }

  @Test("a task that comes in the last steps of a thread goes on too")
  func late() async throws {
    let isInLastSteps = Shared.Flag()
    let gate = Shared.Gate()
    let thread = try PosixThread.start {
      // A handler that was not called is let go of when the storage has been cleared.
      let held = AtRelease {
        isInLastSteps.set()
        gate.wait()
      }
      ThreadHandle.current.onCancel { withExtendedLifetime(held) {} }
    }
    isInLastSteps.wait()
    let task = Task { try await thread.value }
    for _ in 0..<20 { await Task.yield() }
    #expect(thread.state == .running)
    gate.open()
    try await task.value
    #expect(thread.state == .finished)
  }

  @Test(
    "a task of the parent's does not go on in the child of the fork that its thread made",
    // The thread sanitizer does not let a forked child start threads.
    .enabled(if: !ThreadSanitizer.isActive))
  func forked() async {
    await #expect(processExitsWith: .success) { try await forkWhileAwaited() }
  }

  @Test("a task that waits while the start is refused is told so")
  func refusedStart() async {
    await #expect(processExitsWith: .success) {
      dropRights()
      for _ in 0..<200 {
        let thread = PosixThread(ThreadAttributes(scheduling: .fifo(priority: 5))) {}
        let task = Task {
          while thread.state == .notStarted { await Task.yield() }
          try await thread.handle.waitForEnd()
        }
        let isOver = Atomic<Bool>(false)
        // Again and again, so that the task comes upon a start that is under way.
        let join = try inBackground {
          while !isOver.load(ordering: .relaxed) { try? thread.start() }
        }
        let outcome = await task.result
        isOver.store(true, ordering: .relaxed)
        join()
        guard case .failure(let error) = outcome, (error as? ThreadingError)?.codeName == "ESRCH"
        else { fatalError("\(outcome)") }
      }
    }
  }

  @Test("a thread of other origin is awaited by its handle")
  func foreign() async throws {
    let found = Locked<ThreadHandle?>(nil)
    let gate = Shared.Gate()
    let join = try inBackground {
      found.withLock { $0 = .current }
      gate.wait()
    }
    #expect(eventually { found.withLock { $0 } != nil })
    let handle = try #require(found.withLock { $0 })
    let task = Task { try await handle.waitForEnd() }
    await Task.yield()
    #expect(handle.state == .running)
    gate.open()
    try await task.value
    #expect(handle.state == .finished)
    join()
  }

  @Test("a task of the main actor goes on there")
  func mainActor() async throws {
    let gate = Shared.Gate()
    let thread = try PosixThread.start {
      gate.wait()
      return 5
    }
    let onMain = Task { @MainActor in
      let value = try await thread.value
      MainActor.assertIsolated()
      return value
    }
    await Task.yield()
    gate.open()
    #expect(try await onMain.value == 5)
  }
}

/// Runs tasks where they are handed over, but for a forked child's.
private final class AtOnce: TaskExecutor {
  let isUsedInChild = Shared.Flag()

  func enqueue(_ job: consuming ExecutorJob) {
    if ForkedProcess.isCurrent { return isUsedInChild.set() }
    unsafe UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
  }
}

private func forkWhileAwaited() async throws {
  let executor = AtOnce()
  let gate = Shared.Gate()
  let thread = try PosixThread.start {
    gate.wait()
    let child = forkProcess()
    if child != 0 { return statusOfChild(child) }
    // The body returns in the child too; another thread ends the child after that.
    let own = SystemThread.current
    _ = try? inBackground {
      own.join()
      _exit(executor.isUsedInChild.isSet ? 1 : 0)
    }
    return 0
  }
  let task = Task(executorPreference: executor) { try await thread.value }
  precondition(eventually { thread.handle.watcherCount == 1 })
  gate.open()
  requireSuccess(ofChild: try await task.value)
}

/// Runs plain code in an asynchronous test, for calls that block for a moment.
private func synchronouslyReturning<Value>(_ body: () throws -> Value) rethrows -> Value {
  try body()
}

private final class AtRelease: Sendable {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  deinit { body() }
}
