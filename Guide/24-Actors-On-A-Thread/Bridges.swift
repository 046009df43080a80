import Threading

extension ActorsChapter {
  // snippet: wait
  /// Runs asynchronous code and waits for it. Never call it from asynchronous code, nor on a thread that
  /// the code needs.
  static func waitForAsync<Value: Sendable>(
    _ body: @escaping @Sendable () async -> Value
  ) throws -> Value {
    let answer = Locked<Value?>(nil)
    let isThere = CountdownLatch(1)
    Task {
      let value = await body()
      answer.withLock { $0 = value }
      isThere.countDown()
    }
    isThere.wait()
    return answer.withLock { $0! }
  }
  // end

  // snippet: await
  /// Runs a body on a thread of its own, and lets asynchronous code wait for it without blocking a thread.
  static func onThread<Value: Sendable>(
    _ attributes: ThreadAttributes, _ body: @escaping @Sendable () -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try PosixThread.detach(attributes) { continuation.resume(returning: body()) }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }
  // end

  static func sumForAsync() throws -> Int? {
    try waitForAsync {
      try? await onThread(ThreadAttributes(name: "sum")) { (1...100).reduce(0, +) }
    }
  }

  static func asyncOperation() throws -> Bool {
    // snippet: operation
    let isDone = AtomicFlag()
    let pause = AsyncOperation {
      try await Task.sleep(for: .milliseconds(2))
      _ = isDone.testAndSet()
    }
    try ThreadOperationQueue(name: "pauses").add(pause)
    pause.wait()
    // end
    return isDone.isSet
  }

  /// Whether a task of the main actor runs while the main thread runs its loop.
  static func mainActorRuns() -> Bool {
    let isMain = AtomicFlag()
    // snippet: main
    let isOver = ExitFlag()
    Task { @MainActor in
      if ThreadHandle.current.isMain { _ = isMain.testAndSet() }
      isOver.set()
    }
    ThreadRunLoop.main.run(until: isOver)
    // end
    return isMain.isSet
  }
}
