internal import Synchronization
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
  // SAFETY of @unchecked: guarded by `mutex`; `current` is changed by the loop's thread alone, which
  // reads it without.
  private var handler: (@Sendable (Message) -> Void)?
  /// Messages that came since the loop last took them over.
  private var incoming = MessageRow<Message>()
  /// Messages that the loop has taken over.
  private var current = MessageRow<Message>()
  private var isClosed = false
  /// Whether the loop is handling messages and looks for more before it ends: nobody has to tell it.
  private var isAttended = false
  /// How many messages were taken in.
  private var sentCount = 0
  /// How many of them, from the first, have been handled for sure.
  private var handledCount = 0
  /// Whether somebody may wait for that.
  private var hasDrainers = false
  private let handledChanged = ConditionVariable()

  // How many messages of `current`, from the first, have gone: each to whoever raised the number
  // past it. While the mailbox is paused, `held` is added, and none can be claimed.
  // State             | meaning                    | leaves by
  // n < current.count | the next one is free       | claim -> n + 1; pauseChanged -> n + held;
  //                   |                            | takeHandler -> current.count
  // n = current.count | none is free               | refill -> 0; pauseChanged -> n + held
  // n + held          | paused                     | pauseChanged -> n;
  //                   |                            | takeHandler -> current.count
  // claim and refill are only called on the loop's thread; refill, pauseChanged and takeHandler with
  // the mutex held.
  private let gone = Atomic<Int>(0)
  private static var held: Int { 1 << 62 }
  /// How many senders wait for room, or are about to.
  private let waiters = Atomic<Int>(0)

  // Used by the loop's thread alone.
  /// Whether a run was begun inside a handler.
  private var hasInnerRun = false
  /// How many calls of `serve` are under way, and how many messages they have taken.
  private var depth = 0
  private var takenCount = 0

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

  deinit {
    current.clear(from: goneCount)
    incoming.clear(from: 0)
  }

  /// How many messages wait.
  public var count: Int { mutex.withLock { waitingCount } }

  /// Sends a message if there is room for it at the moment.
  @discardableResult
  public func send(_ message: Message) -> SendResult {
    mutex.lock()
    let (result, mustTell) = store(message)
    mutex.unlock()
    if mustTell { owner.items?.signal(self) }
    return result
  }

  /// Sends a message, waiting for room until a moment.
  ///
  /// On the thread of the loop itself, which would wait for itself, it does not wait.
  @available(*, noasync, message: "send(_:until:) blocks the calling thread")
  @discardableResult
  public func send(_ message: Message, until deadline: MonotonicInstant) -> SendResult {
    mutex.lock()
    var (result, mustTell) = store(message)
    if result == .full {
      mutex.unlock()
      if isOnCurrentThread { return .full }
      mutex.lock()
      // Sequentially consistent: pairs with the load in noteRoom(). Either the look at the room below
      // sees that a message has gone, or the loop sees the waiter.
      waiters.wrappingAdd(1, ordering: .sequentiallyConsistent)
      (result, mustTell) = store(message)
      while result == .full {
        let isInTime = roomChanged.wait(mutex, until: deadline)
        (result, mustTell) = store(message)
        if !isInTime { break }
      }
      waiters.wrappingSubtract(1, ordering: .relaxed)
    }
    mutex.unlock()
    if mustTell { owner.items?.signal(self) }
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
      // Not while a handler is at work: the loop cancels it then, when that is done.
      return waitingCount == 0 && handledCount == sentCount
    }
    if isEmpty { cancel() }
  }

  /// Waits until all messages that were sent before have been handled.
  ///
  /// It may return some messages later: it is told when the loop has handled those that it had taken
  /// over together.
  ///
  /// - Parameter deadline: When to stop waiting.
  /// - Returns: Whether they have been handled; false when the moment came first, or the mailbox was
  ///   cancelled before.
  /// - Throws: ``ThreadingError`` with EDEADLK on the thread of the loop itself, which cannot wait for
  ///   itself.
  /// - Note: What the handlers wrote happens before the call returns true.
  @available(*, noasync, message: "waitUntilDrained blocks the calling thread")
  @discardableResult
  public func waitUntilDrained(
    until deadline: MonotonicInstant = .distantFuture
  ) throws(ThreadingError) -> Bool {
    guard !isOnCurrentThread else {
      throw .refused(
        by: "Mailbox.waitUntilDrained", code: .deadlock,
        "called on the thread that is to handle the messages")
    }
    mutex.lock()
    defer { mutex.unlock() }
    let target = sentCount
    while handledCount < target {
      hasDrainers = true
      if handler == nil { return false }
      if !handledChanged.wait(mutex, until: deadline) { return handledCount >= target }
    }
    return true
  }

  // MARK: - For the loop

  override var isReadyWhenAdded: Bool { mutex.withLock { waitingCount > 0 } }

  override func job(for events: Poller.Events) -> SourceJob? { .signalled(self) }

  func serve() {
    mutex.lock()
    let handler = self.handler
    isAttended = handler != nil
    mutex.unlock()
    if let handler { handleMessages(with: handler) }
    // Before the look: a message that came while a signal stood has sent none of its own.
    if hasInnerRun {
      hasInnerRun = depth > 0
      owner.items?.takeBackSignal(self)
    }
    mutex.lock()
    isAttended = false
    if depth == 0 { noteHandled() }
    let hasMore = self.handler != nil && waitingCount > 0
    let isDone = isClosed && waitingCount == 0 && depth == 0
    mutex.unlock()
    if hasMore { owner.items?.signal(self) }
    if isDone { cancel() }
  }

  private func handleMessages(with handler: @Sendable (Message) -> Void) {
    let loop = ThreadRunLoop.current
    loop.serving.append(self)
    depth += 1
    var left = Self.batchLimit
    while left > 0 {
      guard let index = claim() else {
        if refill() { continue }
        break
      }
      takenCount += 1
      handler(current.take(at: index))
      left -= 1
    }
    depth -= 1
    loop.serving.removeLast()
  }

  func runBegins() {
    hasInnerRun = true
    mutex.lock()
    isAttended = false
    let hasMore = waitingCount > 0
    mutex.unlock()
    // The inner run goes on with the messages behind the handler's own.
    if hasMore { owner.items?.signal(self) }
  }

  override func pauseChanged() {
    mutex.lock()
    defer { mutex.unlock() }
    // relaxed: only a claim meets it outside the mutex, and that compares the whole word.
    if isPaused {
      gone.bitwiseOr(Self.held, ordering: .relaxed)
    } else {
      gone.bitwiseAnd(~Self.held, ordering: .relaxed)
    }
  }

  override func takeHandler() -> Any? {
    mutex.lock()
    defer { mutex.unlock() }
    // acquiring and releasing: see claim().
    let seen = gone.exchange(current.count, ordering: .acquiringAndReleasing)
    let first = seen & ~Self.held
    let released = (handler, current.takeAll(from: first), incoming.takeAll(from: 0))
    incoming.empty()
    handler = nil
    isClosed = true
    roomChanged.broadcast()
    handledChanged.broadcast()
    return released
  }

  // MARK: - On the loop's thread

  /// Takes the next message of `current` for the loop.
  ///
  /// - Returns: its index; nil when none is left there, or the mailbox is paused.
  private func claim() -> Int? {
    // relaxed: the loop's own, or a pause's or cancel's, which the exchange meets again.
    let index = gone.load(ordering: .relaxed)
    // Sequentially consistent: pairs with the senders' look at the room after they have announced
    // themselves. As an acquire and release it keeps the message from being taken twice.
    guard index < current.count,
      gone.compareExchange(
        expected: index, desired: index + 1, ordering: .sequentiallyConsistent
      ).exchanged
    else { return nil }
    if capacity < .max { noteRoom() }
    return index
  }

  /// Tells a sender that waits for room that there is some.
  private func noteRoom() {
    // Sequentially consistent: see send(_:until:).
    guard waiters.load(ordering: .sequentiallyConsistent) > 0 else { return }
    mutex.lock()
    roomChanged.signal()
    mutex.unlock()
  }

  /// Takes over what has come.
  ///
  /// - Returns: whether there was anything; if not, the next sender has to tell the loop.
  private func refill() -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    // Not inside another call, whose message is older and not done.
    if depth == 1 { noteHandled() }
    // Of a mailbox that is paused, or was until now, some may be left.
    guard incoming.count > 0, goneCount == current.count, !isHeld else {
      isAttended = false
      return false
    }
    current.empty()
    swap(&current, &incoming)
    // releasing: with the mutex held, so for nobody.
    gone.store(0, ordering: .releasing)
    isAttended = true
    return true
  }

  // MARK: - With the mutex held

  /// All messages that were taken have been handled. On the loop's thread.
  private func noteHandled() {
    handledCount = takenCount
    guard hasDrainers else { return }
    hasDrainers = false
    handledChanged.broadcast()
  }

  private var waitingCount: Int { current.count - goneCount + incoming.count }

  /// How many messages of `current` have gone.
  private var goneCount: Int {
    // Sequentially consistent: see send(_:until:).
    gone.load(ordering: .sequentiallyConsistent) & ~Self.held
  }

  private var isHeld: Bool { gone.load(ordering: .relaxed) & Self.held != 0 }

  /// - Returns: what became of it, and whether the loop has to be told.
  private func store(_ message: Message) -> (SendResult, mustTell: Bool) {
    if isClosed { return (.closed, false) }
    let waiting = waitingCount
    if waiting >= capacity { return (.full, false) }
    incoming.append(message)
    sentCount += 1
    return (.sent, waiting == 0 && !isAttended)
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
