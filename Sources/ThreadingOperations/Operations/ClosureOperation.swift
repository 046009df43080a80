/// An operation that runs a closure.
///
/// ```swift
/// let hello = ClosureOperation { print("hello") }
/// try hello.start()
/// ```
///
/// The closure, and what it has captured, is released when it has run or the operation has been
/// cancelled and finished.
public final class ClosureOperation: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: `body` is written by the initialiser and then only touched by whoever has
  // entered the phase that allows it: the runner of `main()`, or the one who finishes a skipped one.
  private var body: (@Sendable () throws -> Void)?

  /// An operation that will run `body`.
  ///
  /// - Parameter body: the work.
  public init(_ body: @escaping @Sendable () throws -> Void) {
    self.body = body
    super.init()
  }

  /// An operation with a name that will run `body`.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - priority: which of the operations that are ready goes first.
  ///   - body: the work.
  public init(
    name: String, priority: Priority = .normal, _ body: @escaping @Sendable () throws -> Void
  ) {
    self.body = body
    super.init(name: name, priority: priority)
  }

  /// Runs the closure.
  ///
  /// - Throws: what the closure throws.
  public override func main() throws { try body?() }

  override func didEnd() { body = nil }
}
