internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// Operations in an operation: it runs them side by side and has finished when all of them have.
///
/// ```swift
/// let group = GroupOperation(name: "images")
/// try group.add { print("one") }
/// try group.add { print("two") }
/// try queue.add(group)
/// group.wait()
/// ```
///
/// The operations of a group run on the threads of the group's queue, but do not count against that queue's
/// width: the group counts as one. (Started by hand, they run on ``ThreadPool/shared``.) They may depend on
/// each other and on any other operation, but not on the group. Cancelling the group cancels those of its
/// operations that have not finished; the first error that one of them ends with is the group's.
public final class GroupOperation: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: `group` guards what changes.
  private let group: Locked<GroupState>
  private let groupWidth: Int?
  /// Operations that have not finished, and 1 for the time until the group has started.
  private let unfinished = Atomic<Int>(1)

  private struct GroupState {
    var waiting: [ThreadOperation] = []
    /// Those in `waiting`.
    var identities: Set<ObjectIdentifier> = []
    var queue: ThreadOperationQueue?
    var firstError: (any Error)?
    var count = 0
    /// The group is skipped, and those that were added have been seen to.
    var isClosed = false
  }

  /// A group without operations.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - width: how many of its operations may be under way at once, from 1; as many as the pool may have
  ///     threads unless given.
  /// - Precondition: `width` is at least 1. If not, the program stops.
  public init(name: String? = nil, width: Int? = nil) {
    require(
      width ?? 1 >= 1, "GroupOperation: a width of \(width ?? 0) runs nothing; at least 1 is needed"
    )
    groupWidth = width
    group = Locked(GroupState())
    super.init(optionalName: name, priority: .normal)
  }

  /// Adds an operation; also while the group executes, mostly by one of its operations.
  ///
  /// - Parameter operation: one that is in no queue and was not started.
  /// - Throws: ``ThreadOperationError/Reason/alreadyUsed`` if it is in a queue, was started or has finished;
  ///   ``ThreadOperationError/Reason/hasStarted`` if the group has finished.
  public func add(_ operation: ThreadOperation) throws(ThreadOperationError) {
    guard let queue = try accept(operation) else { return }
    if let error = handOver(operation, to: queue, failingGroup: false) {
      group.withLock { $0.count -= 1 }
      throw error
    }
    if isCancelled { operation.cancel() }
  }

  /// Adds a closure as an operation of the group.
  ///
  /// - Parameter body: the work.
  /// - Returns: the operation, which need not be kept.
  /// - Throws: ``ThreadOperationError/Reason/hasStarted`` if the group has finished.
  @discardableResult
  public func add(
    _ body: @escaping @Sendable () throws -> Void
  ) throws(ThreadOperationError) -> ClosureOperation {
    let operation = ClosureOperation(body)
    try add(operation)
    return operation
  }

  /// How many operations were added.
  public var count: Int { group.withLock { $0.count } }

  /// Always true: the group goes on until its last operation has finished.
  public override var isAsynchronous: Bool { true }

  /// Starts the operations.
  ///
  /// - Throws: ``ThreadOperationError/Reason/poolIsShutDown``, and ``ThreadOperationError/Reason/alreadyUsed``
  ///   if one of the operations was started elsewhere meanwhile.
  public override func main() throws {
    let queue = innerQueue(width: groupWidth)
    let waiting = group.withLock { group in
      group.queue = queue
      defer {
        group.waiting = []
        group.identities = []
      }
      return group.waiting
    }
    addCancellationHandler { _ in queue.cancelAll() }
    for operation in waiting {
      // One that was given to somebody else as well is that one's.
      if let error = handOver(operation, to: queue, failingGroup: true),
        error.reason != .alreadyUsed
      {
        endUnrun(operation)
      }
    }
    if isCancelled { queue.cancelAll() }
    settleOne(nil)
  }

  override func willBeSkipped() {
    while true {
      let waiting = group.withLock { group in
        defer {
          group.waiting = []
          group.identities = []
        }
        // What the end of one has added is seen to as well.
        group.isClosed = group.waiting.isEmpty
        return group.waiting
      }
      if waiting.isEmpty { return }
      for operation in waiting { endUnrun(operation) }
    }
  }

  /// Has an operation finish without running, which lets those go on that wait for it.
  private func endUnrun(_ operation: ThreadOperation) {
    operation.cancel()
    do throws(ThreadOperationError) {
      try operation.start()
    } catch {
      // It was handed to somebody else meanwhile, who finishes it.
    }
  }

  // MARK: -

  private enum Acceptance {
    case taken(ThreadOperationQueue?)
    case isClosed
    case isTwice
  }

  /// Counts the operation in.
  ///
  /// - Returns: the queue to add it to now, or nil if it is kept until the start.
  private func accept(
    _ operation: ThreadOperation
  ) throws(ThreadOperationError) -> ThreadOperationQueue? {
    guard operation.load().phase == .pending else {
      throw ThreadOperationError(
        .alreadyUsed, operation, "\(operation) cannot be added to \(label): an operation runs once")
    }
    // Not after the step to 0: the group is over then.
    var seen = unfinished.load(ordering: .relaxed)
    while seen > 0 {
      let (exchanged, original) = unfinished.compareExchange(
        expected: seen, desired: seen + 1, ordering: .relaxed)
      if exchanged { break }
      seen = original
    }
    guard seen > 0, !isFinished else {
      throw ThreadOperationError(
        .hasStarted, self, "\(operation) cannot be added to \(self): it has finished")
    }
    let answer: Acceptance = group.withLock { group in
      if group.isClosed { return .isClosed }
      if group.queue == nil {
        guard group.identities.insert(ObjectIdentifier(operation)).inserted else { return .isTwice }
        group.waiting.append(operation)
      }
      group.count += 1
      return .taken(group.queue)
    }
    if case .taken(let queue) = answer { return queue }
    // As one that has ended: the group may have started, and all the others may have ended meanwhile.
    settleOne(nil)
    if case .isTwice = answer {
      throw ThreadOperationError(
        .alreadyUsed, operation, "\(operation) cannot be added to \(label): it is in it")
    }
    throw ThreadOperationError(
      .hasStarted, self, "\(operation) cannot be added to \(self): it was cancelled")
  }

  /// Has the group's queue run a counted operation.
  ///
  /// - Returns: why it could not; the operation is counted out then.
  private func handOver(
    _ operation: ThreadOperation, to queue: ThreadOperationQueue, failingGroup: Bool
  ) -> ThreadOperationError? {
    let isCounted = AtomicMark()
    operation.addCompletion { [self] operation in
      if isCounted.set() { settleOne(operation.error) }
    }
    do throws(ThreadOperationError) {
      try queue.add(operation)
      return nil
    } catch {
      if isCounted.set() { settleOne(failingGroup ? error : nil) }
      return error
    }
  }

  /// One operation less is unfinished.
  private func settleOne(_ error: (any Error)?) {
    if let error {
      group.withLock { group in
        if group.firstError == nil { group.firstError = error }
      }
    }
    // acquiring and releasing: the last one has seen what all others did.
    guard unfinished.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
    if let first = group.withLock({ $0.firstError }) {
      finish(throwing: first)
    } else {
      finish()
    }
  }
}

/// A mark that is set once.
final class AtomicMark: Sendable {
  private let isMarked = Atomic<Bool>(false)

  /// Sets the mark, and says whether this call did.
  func set() -> Bool {
    // relaxed: what goes with the mark is ordered by its users.
    !isMarked.exchange(true, ordering: .relaxed)
  }
}
