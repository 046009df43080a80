/// An operation that computes a value.
///
/// ```swift
/// let sum = ResultOperation { (1...100).reduce(0, +) }
/// try queue.add(sum)
/// print(try sum.value())
/// ```
public final class ResultOperation<Value: Sendable>: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: `body` as in ClosureOperation; `produced` is written by `main()` and read by
  // others only after they have seen the end.
  private var body: (@Sendable () throws -> Value)?
  private var produced: Value?

  /// An operation that will run `body`.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - priority: which of the operations that are ready goes first.
  ///   - body: the work.
  public init(
    name: String? = nil, priority: Priority = .normal,
    _ body: @escaping @Sendable () throws -> Value
  ) {
    self.body = body
    if let name {
      super.init(name: name, priority: priority)
    } else {
      super.init()
      self.priority = priority
    }
  }

  /// Runs the closure and keeps its value.
  ///
  /// - Throws: what the closure throws.
  public override func main() throws { produced = try body?() }

  override func didEnd() { body = nil }

  /// The value, or the error that the closure threw, or a ``ThreadOperationError`` of reason
  /// ``ThreadOperationError/Reason/cancelled`` if it was cancelled before it started; nil until the
  /// operation has finished.
  public var result: Result<Value, any Error>? {
    switch outcome {
    case nil: return nil
    case .failed(let error): return .failure(error)
    case .completed:
      if let produced { return .success(produced) }
      fatalError("ResultOperation: \(self) has completed without a value")
    case .cancelled:
      return .failure(
        ThreadOperationError(.cancelled, self, "\(self) was cancelled before it started"))
    }
  }

  /// Waits for the operation's end and returns its value.
  ///
  /// - Throws: what the closure threw, or a ``ThreadOperationError`` of reason
  ///   ``ThreadOperationError/Reason/cancelled`` if it was cancelled before it started.
  /// - Precondition: The calling thread is not inside the operation itself. If it is, the program stops.
  @available(*, noasync, message: "value() blocks the calling thread")
  public func value() throws -> Value {
    wait()
    guard let result else { fatalError("ResultOperation: \(self) has no result after its end") }
    return try result.get()
  }
}
