public import ThreadingPlatform

/// One end of a connection between two processes, or two parts of one, that takes messages as they
/// are: each is received whole or not at all, in the order in which they were sent.
///
/// ```swift
/// let (ours, theirs) = try MessageSocket.pair()
/// // theirs.descriptor goes to a child process, which makes a MessageSocket of it
/// try ThreadRunLoop.current.add(
///   MessageSource(ours) { source, event in
///     if case .message(let message) = event { handle(message.bytes) }
///   })
/// ```
///
/// It is a Unix-domain socket of the kind `SOCK_SEQPACKET`. When the system holds as much as it will
/// of what the other end has not received, sending is refused as ``MessageSendResult/full``, or waits.
/// When the other end is closed, also by the end of its process, what it had sent can still be
/// received; then it is told.
///
/// - Note: Safe to use from any thread.
public final class MessageSocket: Sendable {
  /// The descriptor, for a poller of one's own or to hand to another process. It stays the
  /// object's, which closes it when it is freed.
  public let descriptor: CInt

  /// The longest message that is received, in bytes.
  public let maximumSize: Int

  /// The size that is allowed unless another one is asked for: 64 KiB.
  public static let usualMaximumSize = 65_536

  /// Takes over the descriptor of a connected socket, such as one that a parent process has handed
  /// down.
  ///
  /// - Parameters:
  ///   - descriptor: Made non-blocking, and closed with the object. Stays the caller's if it is
  ///     refused.
  ///   - maximumSize: The longest message that is received, in bytes; at least 1.
  /// - Throws: ``ThreadingError`` with EBADF or ENOTSOCK for what is no socket, EPROTOTYPE for one
  ///   that is not of the kind `SOCK_SEQPACKET`, EINVAL for a size below 1.
  public init(
    adopting descriptor: CInt, maximumSize: Int = usualMaximumSize
  ) throws(ThreadingError) {
    guard maximumSize >= 1 else {
      throw .refused(
        by: "MessageSocket.maximumSize", code: .invalid,
        "a size of \(maximumSize) bytes is below the minimum of 1")
    }
    try SystemMessages.adoptSocket(descriptor)
    self.descriptor = descriptor
    self.maximumSize = maximumSize
  }

  deinit { SystemMessages.close(descriptor) }

  /// Two ends that are connected with each other.
  ///
  /// - Parameter maximumSize: The longest message that either receives, in bytes; at least 1.
  /// - Returns: The two ends, which are alike.
  /// - Throws: ``ThreadingError`` with EMFILE or ENFILE when descriptors have run out, ENOMEM, EINVAL
  ///   for a size below 1.
  public static func pair(
    maximumSize: Int = usualMaximumSize
  ) throws(ThreadingError) -> (MessageSocket, MessageSocket) {
    let (first, second) = try SystemMessages.makeSocketPair()
    do throws(ThreadingError) {
      let one = try MessageSocket(adopting: first, maximumSize: maximumSize)
      return (one, try MessageSocket(adopting: second, maximumSize: maximumSize))
    } catch {
      // Only the size can be refused, so neither end was taken over.
      SystemMessages.close(first)
      SystemMessages.close(second)
      throw error
    }
  }

  /// Sends a message if there is room for it at the moment.
  ///
  /// - Parameter bytes: At least one: an empty message could not be told from the end.
  /// - Returns: What became of it.
  /// - Throws: ``ThreadingError`` with EINVAL for an empty message, EMSGSIZE for one that is longer
  ///   than the system's buffer for the socket.
  @discardableResult
  public func send(_ bytes: [UInt8]) throws(ThreadingError) -> MessageSendResult {
    guard !bytes.isEmpty else {
      throw .refused(
        by: "MessageSocket.send", code: .invalid,
        "the message is empty, which is how the end looks; send at least one byte")
    }
    return MessageSendResult(try SystemMessages.sendToSocket(descriptor, bytes))
  }

  /// Sends a message, waiting for room until a moment.
  ///
  /// - Throws: As ``send(_:)``.
  @available(*, noasync, message: "send(_:until:) blocks the calling thread")
  @discardableResult
  public func send(
    _ bytes: [UInt8], until deadline: MonotonicInstant
  ) throws(ThreadingError) -> MessageSendResult {
    while true {
      let result = try send(bytes)
      guard result == .full, SystemMessages.wait(descriptor, forRoom: true, until: deadline) else {
        return result
      }
    }
  }

  /// Says that nothing more will be sent: the other end is told when it has received what was sent.
  /// Messages can still be received.
  public func endSending() { SystemMessages.endSending(descriptor) }

  /// Receives a message, waiting for one until a moment. For an end that is on no loop.
  ///
  /// - Returns: The message, the end, or ``MessageReceipt/nothing`` when the moment came first.
  /// - Throws: ``ThreadingError`` with EMSGSIZE for a message that is longer than ``maximumSize``; it
  ///   is lost, and those behind it can be received.
  @available(*, noasync, message: "receive(until:) blocks the calling thread")
  public func receive(until deadline: MonotonicInstant) throws(ThreadingError) -> MessageReceipt {
    while true {
      let receipt = try receive()
      guard case .nothing = receipt,
        SystemMessages.wait(descriptor, forRoom: false, until: deadline)
      else { return receipt }
    }
  }

  /// Receives a message if there is one at the moment.
  ///
  /// - Throws: As ``receive(until:)``.
  public func receive() throws(ThreadingError) -> MessageReceipt {
    switch try SystemMessages.receiveFromSocket(descriptor, maximumSize: maximumSize) {
    case .message(let bytes, _): return .message(ReceivedMessage(bytes: bytes, priority: 0))
    case .nothingYet: return .nothing
    case .gone: return .end
    case .tooLong(let size):
      throw .refused(
        by: "MessageSocket.maximumSize", code: .tooLong,
        "a message of \(size) bytes came; at most \(maximumSize) are allowed")
    }
  }
}
