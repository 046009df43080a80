public import ThreadingPlatform

/// Receives messages of other processes on a loop's thread.
///
/// ```swift
/// let source = MessageSource(socket) { source, event in
///   switch event {
///   case .message(let message): handle(message.bytes)
///   case .end: peerHasGone()
///   case .failed(let error): report(error)
///   }
/// }
/// try ThreadRunLoop.current.add(source)
/// ```
///
/// A message is taken from the system when its turn has come, at most 64 in a pass of the loop. So a
/// loop that cannot keep up, or a source that is paused, fills the system's buffer, and the other end
/// has to wait: that is the whole of the back-pressure. To send as much as there is room for from a
/// loop, see ``MessageSocket/whenRoom(on:in:_:)``.
///
/// - Note: Safe to use from any thread. The handler is called on the loop's thread.
public final class MessageSource: InputSource, @unchecked Sendable {
  /// What happened.
  public enum Event: Sendable {
    /// A message came.
    case message(ReceivedMessage)
    /// The other end of a socket has gone or will send no more, and all it had sent was handed over:
    /// the last event. The source has been taken off its loop.
    case end
    /// A message could not be received. EMSGSIZE for one that is longer than allowed; it is lost, and
    /// those behind it follow. With any other error the source has been taken off its loop.
    case failed(ThreadingError)
  }

  /// What a source calls: with itself and what happened.
  public typealias Handler = @Sendable (MessageSource, Event) -> Void

  private enum Origin {
    case socket(MessageSocket)
    case queue(NamedMessageQueue)
  }

  private let origin: Origin
  // SAFETY: as in InputSource.
  private var handler: Handler?

  /// The most messages that are handed over in one pass of the loop.
  private static var batchLimit: Int { 64 }

  /// A source for one end of a connection, which it keeps.
  ///
  /// - Parameters:
  ///   - socket: Whose messages are received.
  ///   - handler: Called on the loop's thread.
  public init(_ socket: MessageSocket, handler: @escaping Handler) {
    origin = .socket(socket)
    self.handler = handler
    super.init()
  }

  /// A source for a queue, which it keeps. Several receivers of one queue share its messages.
  ///
  /// - Parameters:
  ///   - queue: Whose messages are received.
  ///   - handler: Called on the loop's thread.
  public init(_ queue: NamedMessageQueue, handler: @escaping Handler) {
    origin = .queue(queue)
    self.handler = handler
    super.init()
  }

  /// The descriptor that is watched.
  public var descriptor: CInt {
    switch origin {
    case .socket(let socket): socket.descriptor
    case .queue(let queue): queue.descriptor
    }
  }

  // MARK: - For the loop

  override var registration: Registration? {
    Registration(descriptor: descriptor, events: .readable, trigger: .level)
  }

  override func job(for events: Poller.Events) -> SourceJob? {
    if events.contains(.closed), let handler {
      let error = ThreadingError.refused(
        by: "MessageSource", code: .invalid, "descriptor \(descriptor) was closed by somebody else")
      return .messageFailed(handler, self, error)
    }
    return handler == nil ? nil : .messages(self)
  }

  override func takeHandler() -> Any? {
    defer { handler = nil }
    return handler
  }

  /// Hands over what there is. A run that the handler starts goes on with what follows.
  func serve() {
    for _ in 0..<Self.batchLimit {
      // The handler, unless the source was cancelled or paused.
      guard let handler = owner.items?.withLock({ _ in isPaused ? nil : handler }) else { return }
      switch receive() {
      case .success(.message(let message)): handler(self, .message(message))
      case .success(.nothing): return
      case .success(.end):
        // Whoever cancels first: after a cancel by another thread the handler does not begin.
        if cancel() { handler(self, .end) }
        return
      case .failure(let error):
        guard error.isTooLong || cancel() else { return }
        handler(self, .failed(error))
      }
    }
  }

  private func receive() -> Result<MessageReceipt, ThreadingError> {
    do throws(ThreadingError) {
      switch origin {
      case .socket(let socket): return .success(try socket.receive())
      case .queue(let queue): return .success(try queue.receive())
      }
    } catch {
      return .failure(error)
    }
  }
}

/// Calls a block once when a descriptor can be written to, through a number of its own.
private final class RoomSource: InputSource, @unchecked Sendable {
  private let copy: CInt
  // SAFETY of @unchecked: as in InputSource.
  private var handler: (@Sendable () -> Void)?

  init(_ descriptor: CInt, _ handler: @escaping @Sendable () -> Void) throws(ThreadingError) {
    copy = try SystemMessages.duplicate(descriptor)
    self.handler = handler
    super.init()
  }

  deinit { SystemMessages.close(copy) }

  override var registration: Registration? {
    Registration(descriptor: copy, events: .writable, trigger: .level)
  }

  override func job(for events: Poller.Events) -> SourceJob? { handler.map { .room($0, self) } }

  override func takeHandler() -> Any? {
    defer { handler = nil }
    return handler
  }
}

extension MessageSocket {
  /// Has a loop's thread run a block once when there is room for another message, or the other end
  /// has gone.
  ///
  /// - Parameters:
  ///   - loop: Whose thread runs it.
  ///   - modes: The modes in which it may run.
  ///   - block: What to run; to be told again, it asks again.
  /// - Returns: What waits for the room: cancelling it takes the block back.
  /// - Throws: ``ThreadingError`` with EMFILE or ENFILE when descriptors have run out, ESRCH when the
  ///   loop's thread has ended.
  @discardableResult
  public func whenRoom(
    on loop: ThreadRunLoop, in modes: ThreadRunLoop.ModeSet = .common,
    _ block: @escaping @Sendable () -> Void
  ) throws(ThreadingError) -> InputSource {
    let source = try RoomSource(descriptor, block)
    try loop.add(source, in: modes)
    return source
  }
}

extension NamedMessageQueue {
  /// Has a loop's thread run a block once when there is room for another message.
  ///
  /// - Parameters:
  ///   - loop: Whose thread runs it.
  ///   - modes: The modes in which it may run.
  ///   - block: What to run; to be told again, it asks again.
  /// - Returns: What waits for the room: cancelling it takes the block back.
  /// - Throws: ``ThreadingError`` with EMFILE or ENFILE when descriptors have run out, ESRCH when the
  ///   loop's thread has ended.
  @discardableResult
  public func whenRoom(
    on loop: ThreadRunLoop, in modes: ThreadRunLoop.ModeSet = .common,
    _ block: @escaping @Sendable () -> Void
  ) throws(ThreadingError) -> InputSource {
    let source = try RoomSource(descriptor, block)
    try loop.add(source, in: modes)
    return source
  }
}
