internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// An operation that tries again when its work fails.
///
/// Between attempts it takes no thread, but keeps its slot in its queue. It has failed with the last attempt's
/// error when no attempt is left, or the policy does not hold another one worthwhile. Cancelling it ends a pause
/// and makes no further attempt.
///
/// ```swift
/// let policy = RetryPolicy(attempts: 3, pause: .milliseconds(100))
/// let fetch = RetryingOperation(policy) { attempt in try connect() }
/// try queue.add(fetch)
/// ```
public final class RetryingOperation: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: `body` is written by the initialiser, and dropped by whoever finishes the operation,
  // when no attempt is under way.
  private let policy: RetryPolicy
  private var body: (@Sendable (Int) throws -> Void)?
  private let tried = Atomic<Int>(0)
  /// The attempt that waits for its time.
  private let waiting = Locked<ClosureOperation?>(nil)

  /// An operation that will run `body` until it does not throw.
  ///
  /// - Parameters:
  ///   - policy: how often, and with what pauses.
  ///   - name: for messages and listings.
  ///   - body: the work, handed the number of the attempt, from 1.
  public init(
    _ policy: RetryPolicy, name: String? = nil, _ body: @escaping @Sendable (Int) throws -> Void
  ) {
    self.policy = policy
    self.body = body
    super.init(optionalName: name, priority: .normal)
  }

  /// How many attempts were begun.
  public var attempts: Int { tried.load(ordering: .acquiring) }

  /// Always true: attempts may follow after `main()`.
  public override var isAsynchronous: Bool { true }

  /// Makes the first attempt.
  public override func main() {
    addCancellationHandler { operation in
      guard let operation = operation as? RetryingOperation else { return }
      operation.waiting.withLock { $0 }?.cancel()
    }
    attempt()
  }

  override func didEnd() { body = nil }

  private func attempt() {
    waiting.withLock { $0 = nil }
    let number = tried.add(1, ordering: .acquiringAndReleasing).newValue
    do {
      try body?(number)
      finish()
    } catch {
      guard !isCancelled, let pause = policy.pause(after: number, error) else {
        finish(throwing: error)
        return
      }
      tryAgain(after: pause, error)
    }
  }

  private func tryAgain(after pause: Duration, _ error: any Error) {
    let next = ClosureOperation(name: "attempt of \(label)") { [self] in attempt() }
    // Cancelled in the pause, it does not run: then the last error stands.
    next.addCompletion { [self] next in
      if case .cancelled = next.outcome {
        waiting.withLock { $0 = nil }
        finish(throwing: error)
      }
    }
    if let quality { next.quality = quality }
    waiting.withLock { $0 = next }
    do throws(ThreadOperationError) {
      try next.delay(for: pause)
      try innerQueue(width: 1).add(next)
      // By a handler that has come before there was something to cancel.
      if isCancelled { next.cancel() }
    } catch let refusal {
      waiting.withLock { $0 = nil }
      finish(throwing: refusal)
    }
  }
}
