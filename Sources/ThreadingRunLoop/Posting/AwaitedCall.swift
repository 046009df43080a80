/// A block that a loop runs for a thread that waits for its result.
final class AwaitedCall<Result: Sendable>: AwaitedWork {
  let answer = OneShot<Swift.Result<Result, any Error>>()

  // SAFETY: touched by the initialiser, and after the call was posted only by the loop's thread, in
  // the one call of run() or abandon().
  private nonisolated(unsafe) var block: (@Sendable () throws -> Result)?

  init(_ block: @escaping @Sendable () throws -> Result) { unsafe self.block = block }

  func run() {
    guard let block = unsafe block else { return }
    let result = Swift.Result(catching: block)
    answer.give(result)
  }

  func abandon() {
    unsafe block = nil
    answer.giveUp()
  }
}
