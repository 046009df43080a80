/// An operation that computes a value: with a closure, or by a subclass that overrides ``compute()``.
///
/// ```swift
/// let sum = ResultOperation { (1...100).reduce(0, +) }
/// try queue.add(sum)
/// print(try sum.value())
/// ```
open class ResultOperation<Value: Sendable>: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: `body` as in ClosureOperation; `produced` is written by `main()` and read by
  // others only after they have seen the end.
  private var body: (@Sendable () throws -> Value)?
  private var produced: Value?

  /// An operation that will run `body`.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - priority: which of the operations that are ready goes first.
  ///   - body: the work. Released when it has run, or the operation has finished without running it.
  public init(
    name: String? = nil, priority: Priority = .normal,
    _ body: @escaping @Sendable () throws -> Value
  ) {
    self.body = body
    super.init(optionalName: name, priority: priority)
  }

  /// An operation of a subclass that overrides ``compute()``.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - priority: which of the operations that are ready goes first.
  public init(computedBySubclass name: String? = nil, priority: Priority = .normal) {
    super.init(optionalName: name, priority: priority)
  }

  /// Computes the value: runs the closure. To be overridden by a subclass that is made without one.
  ///
  /// - Returns: the value.
  /// - Throws: any error; it is the operation's result then.
  /// - Precondition: It is overridden, or there is a closure. If not, the program stops.
  open func compute() throws -> Value {
    guard let body else {
      fatalError(
        "ResultOperation.compute: \(self) has neither a closure nor a compute() of its own")
    }
    return try body()
  }

  /// Calls ``compute()`` and keeps its value.
  ///
  /// - Throws: what `compute()` throws.
  public final override func main() throws { produced = try compute() }

  /// Always false: the value is there when `compute()` returns.
  public final override var isAsynchronous: Bool { false }

  override func didEnd() { body = nil }

  /// The value, or the error that was thrown, or a ``ThreadOperationError`` of reason
  /// ``ThreadOperationError/Reason/cancelled`` if it was cancelled before it started; nil until the
  /// operation has finished.
  public final var result: Result<Value, any Error>? {
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
  /// - Returns: the value.
  /// - Throws: what was thrown, or a ``ThreadOperationError`` of reason
  ///   ``ThreadOperationError/Reason/cancelled`` if it was cancelled before it started.
  /// - Precondition: The calling thread is not inside the operation itself. If it is, the program stops.
  @available(*, noasync, message: "value() blocks the calling thread; use await")
  public final func value() throws -> Value {
    wait()
    return try endResult()
  }

  /// Waits for the operation's end without blocking a thread, and returns its value.
  ///
  /// - Returns: the value.
  /// - Throws: as ``value()-()``.
  public final func value() async throws -> Value {
    await finished()
    return try endResult()
  }

  private final func endResult() throws -> Value {
    guard let result else { fatalError("ResultOperation: \(self) has no result after its end") }
    return try result.get()
  }
}

extension ThreadOperationQueue {
  /// Adds an operation that computes a value.
  ///
  /// ```swift
  /// let size = try queue.compute { try archive.size() }
  /// print(try size.value())
  /// ```
  ///
  /// A name of its own, and not one more `add`: a closure whose value nobody wants would else make the dearer
  /// kind of operation.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - body: the work. What it throws is what `value()` of the operation throws.
  /// - Returns: the operation that was added.
  /// - Throws: ``ThreadOperationError/Reason/poolIsShutDown``.
  public func compute<Value>(
    name: String? = nil, _ body: @escaping @Sendable () throws -> Value
  ) throws(ThreadOperationError) -> ResultOperation<Value> {
    let operation = ResultOperation(name: name, body)
    try add(operation)
    return operation
  }

  /// Adds an operation that computes a value from another one's.
  ///
  /// ```swift
  /// let text = ResultOperation { "12" }
  /// let number = try queue.add(after: text) { Int($0) ?? 0 }
  /// try queue.add(text)
  /// print(try number.value())
  /// ```
  ///
  /// If the other one fails or is cancelled, `body` is not called and the new operation fails with the same
  /// error. If the dependency is removed before the other one has finished, it fails with
  /// ``ThreadOperationError/Reason/unfinishedDependencies``.
  ///
  /// - Parameters:
  ///   - source: what to wait for; it may be in another queue, or still be added.
  ///   - name: for messages and listings.
  ///   - body: the work, handed the value.
  /// - Returns: the operation that was added.
  /// - Throws: ``ThreadOperationError/Reason/poolIsShutDown``.
  @discardableResult
  public func add<Input, Output>(
    after source: ResultOperation<Input>, name: String? = nil,
    _ body: @escaping @Sendable (Input) throws -> Output
  ) throws(ThreadOperationError) -> ResultOperation<Output> {
    let operation = ResultOperation(name: name) { [source] in
      guard let result = source.result else {
        throw ThreadOperationError(
          .unfinishedDependencies, source,
          "there is no value to hand on: \(source) has not finished, and is waited for no more")
      }
      return try body(result.get())
    }
    try operation.addDependency(source)
    try add(operation)
    return operation
  }
}
