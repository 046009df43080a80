/// Thrown where a thread finds that it was asked to finish early.
public struct ThreadCancelled: Error, Hashable, Sendable {
  /// What was given as the reason, if anything.
  public let reason: String?

  /// An error with the given reason.
  public init(reason: String? = nil) {
    self.reason = reason
  }
}

extension ThreadCancelled: CustomStringConvertible {
  /// `the thread was cancelled: reason`.
  public var description: String {
    reason.map { "the thread was cancelled: \($0)" } ?? "the thread was cancelled"
  }
}
