internal import Synchronization
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
    in modes: ModeSet = .common, _ block: @escaping @Sendable () -> Void
  ) -> Bool {
    post(modes, ticket: nil, block)
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
    let reply = PerformReply<Result>()
    let posted = post(modes, ticket: reply) { reply.complete(Swift.Result(catching: block)) }
    guard posted, let result = reply.wait() else {
      throw ThreadingError.loopEnded("ThreadRunLoop.performAndWait")
    }
    return try result.get()
  }

  private func post(
    _ modes: ModeSet, ticket: (any PostedBlockTicket)?, _ body: @escaping @Sendable () -> Void
  ) -> Bool {
    precondition(
      !modes.isEmpty, "ThreadRunLoop.perform: the set of modes is empty; the block would never run")
    let block = UnsafeMutablePointer<PostedBlock>.allocate(capacity: 1)
    unsafe block.initialize(
      to: PostedBlock(next: nil, modes: modes.bits, body: body, ticket: ticket))
    guard unsafe inbox.push(block) else {
      unsafe block.deinitialize(count: 1)
      unsafe block.deallocate()
      return false
    }
    wake(wakeWord.wakeSleeper())
    return true
  }
}

/// The answer to a block whose poster waits for it.
private final class PerformReply<Value: Sendable>: PostedBlockTicket {
  // State     | meaning                            | leaves by
  // waiting   | the block has not ended            | complete, abandoned
  // completed | `result` holds the answer; final   | never
  // abandoned | the block will not run; final      | never
  private let state = Atomic<UInt32>(waiting)
  private static var waiting: UInt32 { 0 }
  private static var completed: UInt32 { 1 }
  private static var abandonedState: UInt32 { 2 }

  // SAFETY: written by the loop's thread before it releases `completed`, read by the poster after
  // it has acquired that.
  private nonisolated(unsafe) var result: Swift.Result<Value, any Error>?

  func complete(_ result: Swift.Result<Value, any Error>) {
    unsafe self.result = result
    end(Self.completed)
  }

  func abandoned() { end(Self.abandonedState) }

  /// Waits for the answer; nil when there will be none.
  func wait() -> Swift.Result<Value, any Error>? {
    // acquiring: pairs with the release in end().
    while state.load(ordering: .acquiring) == Self.waiting {
      _ = Futex.wait(state, while: Self.waiting)
    }
    return unsafe result
  }

  private func end(_ final: UInt32) {
    // releasing: pairs with the acquire in wait().
    state.store(final, ordering: .releasing)
    Futex.wake(state, count: 1)
  }
}
