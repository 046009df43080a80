internal import ThreadingPlatform

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
    if isCurrent { return try block() }
    let call = AwaitedCall(block)
    guard post(modes, .awaited(call)), case .value(let result) = call.answer.wait() else {
      throw ThreadingError.loopEnded("ThreadRunLoop.performAndWait")
    }
    return try result.get()
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
