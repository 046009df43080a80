import Threading

/// A value that belongs to the thread of one run loop.
///
/// The box may be handed to any thread, as blocks posted to the loop have to be; it can be opened on
/// the loop's thread alone. So what is in it needs no lock.
// SAFETY of @unchecked: `value` is touched in `withValue` only, after the check of the thread.
final class LoopBound<Value>: @unchecked Sendable {
  private let loop: ThreadRunLoop
  private var value: Value

  /// Binds a value to the calling thread's loop.
  init(_ value: Value) {
    loop = .current
    self.value = value
  }

  /// Opens the box.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws.
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  func withValue<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(loop.isCurrent, "LoopBound.withValue: called on a thread that is not the loop's")
    return try body(&value)
  }
}
