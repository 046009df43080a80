public import ThreadingPlatform

/// A message queue of the system that processes find by its name: a POSIX message queue.
///
/// ```swift
/// let jobs = try NamedMessageQueue("/jobs", making: .ifMissing, capacity: 10, maximumSize: 256)
/// try jobs.send(Array("rebuild".utf8), priority: 5)
/// ```
///
/// Messages of higher priority are received first, those of one priority in the order in which they
/// were sent, each by one receiver. The queue and what is in it stay when all processes have
/// ended, until its name is removed with ``remove(_:)`` and nobody has it open. A sender is not told
/// whether anybody receives.
///
/// - Note: Safe to use from any thread.
public final class NamedMessageQueue: Sendable {
  /// What a queue is opened for.
  public enum Access: Hashable, Sendable {
    /// To receive.
    case receiving
    /// To send.
    case sending
    /// Both.
    case both
  }

  /// What to do about a queue that is there or not.
  public enum Making: Hashable, Sendable {
    /// It has to be there.
    case never
    /// It is made if it is not there.
    case ifMissing
    /// It must not be there.
    case always
  }

  /// The name: a slash and a word.
  public let name: String

  /// The descriptor, for a poller of one's own. It stays the object's, which closes it when it is
  /// freed.
  public let descriptor: CInt

  /// How many messages the queue holds at most.
  public let capacity: Int

  /// The longest message of the queue, in bytes.
  public let maximumSize: Int

  /// The highest priority.
  public static let maximumPriority: UInt32 = 32_767

  /// Opens a queue, or makes it.
  ///
  /// - Parameters:
  ///   - name: A slash and a word of at most 254 bytes without another slash.
  ///   - access: What it is opened for.
  ///   - making: What to do about a queue that is there or not.
  ///   - capacity: How many messages a queue that is made holds at most; from 1 up to
  ///     `fs.mqueue.msg_max`, usually 10.
  ///   - maximumSize: The longest message of a queue that is made, in bytes; from 1 up to
  ///     `fs.mqueue.msgsize_max`, usually 8,192.
  ///   - permissions: Who may use a queue that is made, as for files.
  /// - Throws: ``ThreadingError`` with ENOENT, EEXIST, EACCES, EINVAL for a name or limit that is not
  ///   allowed, ENOSPC when there are too many queues, EMFILE or ENFILE when descriptors have run
  ///   out, ENOSYS on a system without message queues.
  public init(
    _ name: String, for access: Access = .both, making: Making = .never, capacity: Int = 10,
    maximumSize: Int = 8_192, permissions: UInt32 = 0o600
  ) throws(ThreadingError) {
    self.name = name
    descriptor = try SystemMessages.openQueue(
      name,
      SystemMessages.Opening(
        reads: access != .sending, writes: access != .receiving, makes: making != .never,
        isNew: making == .always, permissions: permissions, capacity: capacity, size: maximumSize))
    let limits = SystemMessages.limits(of: descriptor)
    self.capacity = limits.capacity
    self.maximumSize = limits.size
  }

  deinit { SystemMessages.close(descriptor) }

  /// Removes a name. Those who have the queue open can go on with it; with the last of them it goes.
  ///
  /// - Throws: ``ThreadingError`` with ENOENT when there is no such queue, EACCES.
  public static func remove(_ name: String) throws(ThreadingError) {
    try SystemMessages.removeQueue(name)
  }

  /// How many messages wait.
  public var count: Int { SystemMessages.limits(of: descriptor).count }

  /// Sends a message if there is room for it at the moment.
  ///
  /// - Parameters:
  ///   - bytes: The message, which may be empty.
  ///   - priority: From 0 up to ``maximumPriority``.
  /// - Returns: ``MessageSendResult/sent`` or ``MessageSendResult/full``.
  /// - Throws: ``ThreadingError`` with EMSGSIZE for a message longer than ``maximumSize``, EINVAL for
  ///   a priority that is not allowed, EBADF when the queue was opened for receiving.
  @discardableResult
  public func send(
    _ bytes: [UInt8], priority: UInt32 = 0
  ) throws(ThreadingError) -> MessageSendResult {
    guard bytes.count <= maximumSize else {
      throw .refused(
        by: "NamedMessageQueue.maximumSize", code: .tooLong,
        "a message has \(bytes.count) bytes; at most \(maximumSize) are allowed")
    }
    guard priority <= Self.maximumPriority else {
      throw .refused(
        by: "NamedMessageQueue.send", code: .invalid,
        "a priority of \(priority) is above the maximum of \(Self.maximumPriority)")
    }
    return MessageSendResult(
      try SystemMessages.sendToQueue(descriptor, bytes, priority: priority))
  }

  /// Sends a message, waiting for room until a moment.
  ///
  /// - Throws: As ``send(_:priority:)``.
  @available(*, noasync, message: "send(_:priority:until:) blocks the calling thread")
  @discardableResult
  public func send(
    _ bytes: [UInt8], priority: UInt32 = 0, until deadline: MonotonicInstant
  ) throws(ThreadingError) -> MessageSendResult {
    while true {
      let result = try send(bytes, priority: priority)
      guard result == .full, SystemMessages.wait(descriptor, forRoom: true, until: deadline) else {
        return result
      }
    }
  }

  /// Receives the first message of the highest priority if there is one at the moment.
  ///
  /// - Returns: ``MessageReceipt/message(_:)`` or ``MessageReceipt/nothing``.
  /// - Throws: ``ThreadingError`` with EBADF when the queue was opened for sending.
  public func receive() throws(ThreadingError) -> MessageReceipt {
    switch try SystemMessages.receiveFromQueue(descriptor, maximumSize: maximumSize) {
    case .message(let bytes, let priority):
      return .message(ReceivedMessage(bytes: bytes, priority: priority))
    case .nothingYet, .gone, .tooLong: return .nothing
    }
  }

  /// Receives a message, waiting for one until a moment. For a queue that is on no loop.
  ///
  /// - Throws: As ``receive()``.
  @available(*, noasync, message: "receive(until:) blocks the calling thread")
  public func receive(until deadline: MonotonicInstant) throws(ThreadingError) -> MessageReceipt {
    while true {
      let receipt = try receive()
      guard case .nothing = receipt,
        SystemMessages.wait(descriptor, forRoom: false, until: deadline)
      else { return receipt }
    }
  }
}
