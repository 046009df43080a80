extension ThreadOperation {
  /// How far an operation has come. It passes through these once, in this order; one that is cancelled
  /// before it starts goes from `pending` or `ready` to `finished`.
  public enum State: Sendable, Hashable {
    /// Not handed to a queue yet, or in a queue and waiting for its dependencies.
    case pending
    /// In a queue with all dependencies finished: it starts as soon as its turn comes.
    case ready
    /// Its work is under way.
    case executing
    /// Its work is over. Final.
    case finished
  }

  /// How an operation ended.
  public enum Outcome: Sendable {
    /// Its work was done.
    case completed
    /// `main()` threw, or `finish(throwing:)` was called.
    case failed(any Error)
    /// It was cancelled before it started: its `main()` was never called.
    case cancelled
  }
}
