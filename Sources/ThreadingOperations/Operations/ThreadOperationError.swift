/// What an operation, a queue or a pool refused to do because it was asked at the wrong moment.
///
/// Everything stays as it was before the refused call, and usable.
public struct ThreadOperationError: Error, Hashable, Sendable {
  /// Why the call was refused.
  public enum Reason: Hashable, Sendable {
    /// The operation is in a queue already, was started by hand, or has finished: it runs once.
    case alreadyUsed
    /// The operation was to be started by hand with dependencies that have not finished.
    case unfinishedDependencies
    /// Dependencies can only be changed before the operation starts.
    case hasStarted
    /// The dependency would make the operation wait for itself.
    case dependencyCycle
    /// The pool has been shut down.
    case poolIsShutDown
    /// The operation was cancelled before it had a result.
    case cancelled
    /// One that it depended on did not complete, and it was to be cancelled then.
    case dependencyFailed
    /// It had not finished when its time was over.
    case timedOut
    /// The system refused the thread that keeps the time.
    case noTimer
  }

  /// Why the call was refused.
  public let reason: Reason

  /// The operation's name, or its type where it has none.
  public let operation: String

  /// What the operation's state was.
  public let state: ThreadOperation.State

  /// What was refused, in words.
  public let message: String

  init(_ reason: Reason, _ operation: ThreadOperation, _ message: String) {
    self.reason = reason
    self.operation = operation.label
    state = operation.state
    self.message = message
  }

  /// For a bare closure, which has no operation.
  init(_ reason: Reason, message: String) {
    self.reason = reason
    operation = "closure"
    state = .pending
    self.message = message
  }
}

extension ThreadOperationError: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
