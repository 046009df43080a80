internal import Synchronization

/// A block that a loop runs for a thread that waits for its result.
final class AwaitedCall<Result: Sendable>: AwaitedWork {
  let answer = OneShot<Swift.Result<Result, any Error>>()

  // SAFETY: touched by the initialiser, and after the call was posted only by the loop's thread, in
  // the one call of run() or abandon().
  private nonisolated(unsafe) var block: (@Sendable () throws -> Result)?

  // State       | meaning                                     | leaves by
  // 0 posted    | the loop has not come to it                 | run -> begun, withdraw -> withdrawn
  // 1 begun     | the block runs, or has run                  | never
  // 2 withdrawn | whoever waited waits no more; it does not   | never
  //             | run                                         |
  private let stage = Atomic<UInt32>(0)

  init(_ block: @escaping @Sendable () throws -> Result) { unsafe self.block = block }

  /// Has the block not run, if the loop has not come to it.
  ///
  /// - Returns: false if it has.
  func withdraw() -> Bool { leavePosted(for: 2) }

  /// relaxed: only one of the two comes first. The block was published by the post.
  private func leavePosted(for stage: UInt32) -> Bool {
    self.stage.compareExchange(expected: 0, desired: stage, ordering: .relaxed).exchanged
  }

  func run() {
    guard let block = unsafe block else { return }
    guard leavePosted(for: 1) else {
      unsafe self.block = nil
      return
    }
    let result = Swift.Result(catching: block)
    answer.give(result)
  }

  func abandon() {
    unsafe block = nil
    answer.giveUp()
  }
}
