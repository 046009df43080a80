public import ThreadingPlatform

extension ThreadRunLoop {
  /// Has the loop's thread run a block, as soon as it runs the loop in one of the modes.
  ///
  /// Blocks of one thread run in the order in which it posted them, each once. Posting wakes the
  /// loop if it sleeps; while it is busy, a post costs no system call. On the loop's own thread,
  /// too, the block waits for the loop's next pass.
  ///
  /// - Parameters:
  ///   - modes: The modes in which the block may run.
  ///   - block: What to run. Released on the loop's thread after it ran, or where it is refused.
  /// - Returns: Whether the loop has the block. False only when its thread has ended; the block
  ///   does not run then. A block that is still waiting when the thread ends does not run either.
  /// - Note: Safe to call from any thread. What was written before happens before the block runs.
  @discardableResult
  public func perform(
    in modes: ModeSet = .common, _ block: consuming @escaping @Sendable () -> Void
  ) -> Bool {
    post(modes, .block(consume block))
  }

  /// Has the main thread run a block, as soon as it runs its loop in one of the modes: `main.perform`, under
  /// the name that it has elsewhere.
  ///
  /// - Parameters:
  ///   - modes: The modes in which the block may run.
  ///   - block: What to run. Code of the main actor, which a loop of the main thread serves.
  /// - Returns: As ``perform(in:_:)``.
  @discardableResult
  public static func performOnMainThread(
    in modes: ModeSet = .common, _ block: @escaping @MainActor @Sendable () -> Void
  ) -> Bool {
    main.perform(in: modes) { MainActor.assumeIsolated { block() } }
  }

  /// Has the loop's thread run a block, and waits for its result or error.
  ///
  /// On the loop's own thread the block runs at once, inside the call, whatever the modes.
  ///
  /// - Parameters:
  ///   - modes: The modes in which the block may run.
  ///   - block: What to run.
  /// - Returns: What the block returned.
  /// - Throws: What the block threw; ``ThreadingError`` with ESRCH when the loop's thread has ended,
  ///   or ends before it came to the block.
  /// - Note: Safe to call from any thread. What the block wrote happens before the call returns.
  ///   While the loop's thread does not run its loop, the call waits; two threads that wait for
  ///   each other wait for ever.
  @available(*, noasync, message: "performAndWait blocks the calling thread")
  public func performAndWait<Result: Sendable>(
    in modes: ModeSet = .common, _ block: @escaping @Sendable () throws -> Result
  ) throws -> Result {
    guard let result = try performAndWait(in: modes, until: .distantFuture, block) else {
      fatalError("ThreadRunLoop.performAndWait: a wait without a limit came to an end")
    }
    return result
  }

  /// Has the loop's thread run a block, and waits for its result or error, unless a moment comes before the
  /// loop has come to it.
  ///
  /// A block that has begun is waited for, however long it takes. On the loop's own thread the block runs
  /// at once, inside the call.
  ///
  /// - Parameters:
  ///   - modes: The modes in which the block may run.
  ///   - deadline: How long to wait for the block to begin.
  ///   - block: What to run.
  /// - Returns: What the block returned; nil when the moment came first. The block then does not run.
  /// - Throws: As ``performAndWait(in:_:)``.
  /// - Note: As there; two threads that wait for each other's loops so wait until the moment.
  @available(*, noasync, message: "performAndWait blocks the calling thread")
  public func performAndWait<Result: Sendable>(
    in modes: ModeSet = .common, until deadline: MonotonicInstant,
    _ block: @escaping @Sendable () throws -> Result
  ) throws -> Result? {
    if isCurrent { return try block() }
    let call = AwaitedCall(block)
    guard post(modes, .awaited(call)) else {
      throw ThreadingError.loopEnded("ThreadRunLoop.performAndWait")
    }
    var answer = call.answer.wait(until: deadline)
    if case .timedOut = answer {
      if call.withdraw() { return nil }
      answer = call.answer.wait()
    }
    guard case .value(let result) = answer else {
      throw ThreadingError.loopEnded("ThreadRunLoop.performAndWait")
    }
    return try result.get()
  }

  /// As ``performAndWait(in:until:_:)``, with a time on the monotonic clock from now on in place of a moment.
  ///
  /// - Parameters:
  ///   - modes: The modes in which the block may run.
  ///   - duration: How long to wait for the block to begin.
  ///   - block: What to run.
  /// - Returns: As there.
  /// - Throws: As there.
  @available(*, noasync, message: "performAndWait blocks the calling thread")
  public func performAndWait<Result: Sendable>(
    in modes: ModeSet = .common, for duration: Duration,
    _ block: @escaping @Sendable () throws -> Result
  ) throws -> Result? {
    try performAndWait(in: modes, until: .now.advanced(by: duration), block)
  }

  func post(_ modes: ModeSet, _ work: consuming PostedWork) -> Bool {
    require(
      !modes.isEmpty, "ThreadRunLoop.perform: the set of modes is empty; the block would never run")
    let place = unsafe PostSheet.take()
    let block = unsafe place.address.bindMemory(to: PostedBlock.self, capacity: 1)
    unsafe block.initialize(
      to: PostedBlock(next: nil, modes: modes.bits, work: work, number: place.number))
    guard unsafe inbox.push(block) else {
      if isCurrent, takesJobsOnly, unsafe block.pointee.work.isJob {
        unsafe pending.append(block)
        return true
      }
      let number = unsafe place.number
      unsafe block.deinitialize(count: 1)
      unsafe PostedBlock.giveBack(block, number: number)
      return false
    }
    wake(wakeWord.wakeSleeper())
    return true
  }
}
