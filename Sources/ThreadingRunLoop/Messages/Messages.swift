internal import ThreadingPlatform

/// A message from another process.
public struct ReceivedMessage: Hashable, Sendable {
  /// What was sent.
  public let bytes: [UInt8]
  /// The priority that it was sent with; 0 from a socket.
  public let priority: UInt32
}

/// What a look for a message came to.
public enum MessageReceipt: Hashable, Sendable {
  /// A message came.
  case message(ReceivedMessage)
  /// None is there, or none came in time.
  case nothing
  /// The other end has gone or will send no more, and all that it had sent was received. A queue has
  /// no end.
  case end
}

/// What became of a message to another process.
public enum MessageSendResult: Hashable, Sendable {
  /// The system has it.
  case sent
  /// There was no room for it, in time if the sender waited.
  case full
  /// The other end has gone.
  case gone

  init(_ sending: SystemMessages.Sending) {
    switch sending {
    case .sent: self = .sent
    case .full: self = .full
    case .gone: self = .gone
    }
  }
}
