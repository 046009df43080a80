/// Nothing more comes out of a ``BoundedQueue``, or may be put into it: it has been closed.
public struct QueueClosed: Error, Hashable, CustomStringConvertible {
  /// The error.
  public init() {}

  /// What a log shows.
  public var description: String { "the queue has been closed" }
}
