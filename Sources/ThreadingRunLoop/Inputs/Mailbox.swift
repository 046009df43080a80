internal import ThreadingLocks
public import ThreadingPlatform

/// Takes typed messages from any thread to the thread of a loop.
///
/// ```swift
/// enum Command { case draw(Shape), count(MailboxReply<Int>) }
/// let commands = Mailbox<Command>(capacity: 100) { command in
///   switch command {
///   case .draw(let shape): canvas.draw(shape)
///   case .count(let reply): reply.send(canvas.count)
///   }
/// }
/// try loop.add(commands)
/// // on any thread:
/// commands.send(.draw(circle))
/// let count = try commands.ask { .count($0) }
/// ```
///
/// Messages of one thread are handled in the order in which it sent them. A loop that sleeps is
/// woken once for a burst. With a capacity, senders can wait for room, which keeps a fast sender from
/// filling the memory with what a slow loop has not handled.
///
/// Messages may be sent before the mailbox is on a loop; they wait for it. When it is cancelled, or
/// the loop's thread ends, it closes, and messages that were not handled are released.
///
/// - Note: Safe to use from any thread. What was written before a message was sent happens before
///   the call of the handler.
public final class Mailbox<Message: Sendable>: InputSource, SignalledSource, @unchecked Sendable {
  /// What became of a message.
  public enum SendResult: Hashable, Sendable {
    /// The mailbox has it.
    case sent
    /// There was no room for it, in time if the sender waited.
    case full
    /// The mailbox is closed: its loop will not handle any more.
    case closed
  }

  /// How many messages can wait at most.
  public let capacity: Int

  private let mutex = FastMutex()
  private let roomChanged = ConditionVariable()
  // SAFETY of @unchecked: guarded by `mutex`.
  private var handler: (@Sendable (Message) -> Void)?
  /// Messages in order: those to be handled next, from `position` on, and those that came since.
  private var current: [Message?] = []
  private var position = 0
  private var incoming: [Message?] = []
  private var isClosed = false

  /// The most messages that are handled in one pass of the loop.
  private static var batchLimit: Int { 256 }

  /// A mailbox that is on no loop yet.
  ///
  /// - Parameters:
  ///   - capacity: How many messages can wait at most; at least 1.
  ///   - handler: Called on the loop's thread with each message.
  /// - Precondition: `capacity` is at least 1. If it is not, the program stops.
  public init(capacity: Int = .max, handler: @escaping @Sendable (Message) -> Void) {
    require(capacity >= 1, "Mailbox.init: a capacity of \(capacity) is below the minimum of 1")
    self.capacity = capacity
    self.handler = handler
    super.init()
  }

  /// How many messages wait.
  public var count: Int { mutex.withLock { waitingCount } }

  /// Sends a message if there is room for it at the moment.
  @discardableResult
  public func send(_ message: Message) -> SendResult {
    let (result, isFirst) = mutex.withLock { store(message) }
    if isFirst { owner.items?.signal(self) }
    return result
  }

  /// Sends a message, waiting for room until a moment.
  ///
  /// On the thread of the loop itself, which would wait for itself, it does not wait.
  @available(*, noasync, message: "send(_:until:) blocks the calling thread")
  @discardableResult
  public func send(_ message: Message, until deadline: MonotonicInstant) -> SendResult {
    let mayWait = !isOnCurrentThread
    mutex.lock()
    var (result, isFirst) = store(message)
    while result == .full, mayWait {
      let isInTime = roomChanged.wait(mutex, until: deadline)
      (result, isFirst) = store(message)
      if !isInTime { break }
    }
    mutex.unlock()
    if isFirst { owner.items?.signal(self) }
    return result
  }

  /// Sends a message that asks for an answer, and waits for it.
  ///
  /// - Parameter message: Makes the message from the reply that is to go with it.
  /// - Returns: The answer.
  /// - Throws: ``ThreadingError`` with ESRCH when the mailbox is closed, ECANCELED when the reply was
  ///   dropped without an answer (the mailbox was closed meanwhile, or the handler did not answer),
  ///   EDEADLK on the thread of the loop itself, which cannot wait for itself.
  @available(*, noasync, message: "ask blocks the calling thread")
  public func ask<Value: Sendable>(
    _ message: (MailboxReply<Value>) -> Message
  ) throws(ThreadingError) -> Value {
    // Without a deadline there is no timing out.
    try ask(until: .distantFuture, message)!
  }

  /// Sends a message that asks for an answer, and waits for it until a moment.
  ///
  /// - Parameters:
  ///   - deadline: When to stop waiting. The message is handled all the same.
  ///   - message: Makes the message from the reply that is to go with it.
  /// - Returns: The answer; nil when the moment came first.
  /// - Throws: As ``ask(_:)``.
  @available(*, noasync, message: "ask blocks the calling thread")
  public func ask<Value: Sendable>(
    until deadline: MonotonicInstant, _ message: (MailboxReply<Value>) -> Message
  ) throws(ThreadingError) -> Value? {
    guard !isOnCurrentThread else {
      throw .refused(
        by: "Mailbox.ask", code: .deadlock, "called on the thread that is to answer")
    }
    let answer = OneShot<Value>()
    switch send(message(MailboxReply(answer)), until: deadline) {
    case .sent: break
    case .full: return nil
    case .closed: throw .refused(by: "Mailbox.ask", code: .noThread, "the mailbox is closed")
    }
    switch answer.wait(until: deadline) {
    case .value(let value): return value
    case .timedOut: return nil
    case .none:
      throw .refused(by: "Mailbox.ask", code: .brokenOff, "the reply was dropped without an answer")
    }
  }

  /// Takes no more messages. Those that wait are still handled; then the mailbox is cancelled.
  public func close() {
    let isEmpty = mutex.withLock {
      isClosed = true
      roomChanged.broadcast()
      return waitingCount == 0
    }
    if isEmpty { cancel() }
  }

  // MARK: - For the loop

  override var isReadyWhenAdded: Bool { mutex.withLock { waitingCount > 0 } }

  override func job(for events: Poller.Events) -> SourceJob? { .signalled(self) }

  func serve() {
    // A run that a handler starts goes on with the messages behind the handler's own.
    let isAhead = count > 1
    if isAhead { owner.items?.signal(self) }
    for _ in 0..<Self.batchLimit {
      guard let (message, handler) = mutex.withLock({ takeNext() }) else { break }
      handler(message)
    }
    // Before the look: a message that came while this signal stood has sent none of its own.
    if isAhead { owner.items?.takeBackSignal(self) }
    let (hasMore, isDone) = mutex.withLock {
      (handler != nil && waitingCount > 0, isClosed && waitingCount == 0)
    }
    if hasMore { owner.items?.signal(self) }
    if isDone { cancel() }
  }

  override func takeHandler() -> Any? {
    mutex.withLock {
      let released = (handler, current, incoming)
      handler = nil
      current = []
      incoming = []
      position = 0
      isClosed = true
      roomChanged.broadcast()
      return released
    }
  }

  // MARK: - With the mutex held

  private var waitingCount: Int { current.count - position + incoming.count }

  /// - Returns: what became of it, and whether the loop has to be told.
  private func store(_ message: Message) -> (SendResult, isFirst: Bool) {
    if isClosed { return (.closed, false) }
    let waiting = waitingCount
    if waiting >= capacity { return (.full, false) }
    incoming.append(message)
    return (.sent, waiting == 0)
  }

  private func takeNext() -> (Message, @Sendable (Message) -> Void)? {
    guard let handler else { return nil }
    if position == current.count {
      guard !incoming.isEmpty else { return nil }
      current.removeAll(keepingCapacity: true)
      swap(&current, &incoming)
      position = 0
    }
    let message = current[position]
    current[position] = nil
    position += 1
    if capacity < .max { roomChanged.signal() }
    return message.map { ($0, handler) }
  }

  private var isOnCurrentThread: Bool {
    owner.items?.withLock { $0.loop }?.isCurrent ?? false
  }
}

/// The right to answer a message, once.
///
/// If it is let go of without an answer, whoever asked is told so.
public final class MailboxReply<Value: Sendable>: Sendable {
  private let answer: OneShot<Value>

  init(_ answer: OneShot<Value>) { self.answer = answer }

  deinit { answer.giveUp() }

  /// Answers. From any thread, now or later.
  ///
  /// - Returns: Whether this was the first answer; others have no effect.
  @discardableResult
  public func send(_ value: Value) -> Bool { answer.give(value) }
}
