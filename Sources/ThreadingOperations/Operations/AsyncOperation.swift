/// An operation whose work is asynchronous Swift code.
///
/// It takes a slot of its queue until the code has ended, but no thread of the queue: the code runs where
/// Swift's tasks run, or on a chosen executor. Cancelling the operation cancels the task.
///
/// ```swift
/// let pause = AsyncOperation { try await Task.sleep(for: .milliseconds(10)) }
/// try queue.add(pause)
/// ```
///
/// ``ThreadOperation/current`` is nil inside: the code has no thread of its own.
public final class AsyncOperation: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: `body` is touched by `main()`, and then by nobody.
  private var body: (@Sendable () async throws -> Void)?
  private let executor: (any TaskExecutor)?

  /// An operation that will run `body` in a task of its own.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - executor: where the task prefers to run; nil for Swift's own threads.
  ///   - body: the work.
  public init(
    name: String? = nil, on executor: (any TaskExecutor)? = nil,
    _ body: @escaping @Sendable () async throws -> Void
  ) {
    self.body = body
    self.executor = executor
    super.init(optionalName: name, priority: .normal)
  }

  /// Always true: the work goes on in a task.
  public override var isAsynchronous: Bool { true }

  /// Starts the task.
  public override func main() {
    guard let body else { return }
    self.body = nil
    let task = Task.detached(executorPreference: executor) { [self] in
      do {
        try await body()
        finish()
      } catch {
        finish(throwing: error)
      }
    }
    addCancellationHandler { _ in task.cancel() }
  }

  override func willBeSkipped() { body = nil }
}

extension ThreadOperation {
  /// Waits until the operation has finished, without blocking a thread.
  ///
  /// Returns when the completion blocks that were added before the call have run; what the operation wrote
  /// happens before. Cancelling the waiting task does not cancel the operation, nor end the wait.
  public final func finished() async {
    await withCheckedContinuation { continuation in
      addCompletion { _ in continuation.resume() }
    }
  }
}
