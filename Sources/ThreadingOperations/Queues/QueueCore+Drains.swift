internal import Synchronization
internal import ThreadingLocks

/// What the threads do that run a queue's operations.
extension QueueCore {
  /// Runs operations until there is none that may run now.
  func runAll(in context: OperationContext) {
    var turn = executor.beginTurn()
    var next = takeNext(standingBack: false, onNewSlot: false)
    while let taken = next { next = run(taken, in: context, &turn) }
  }

  /// Runs an operation and takes the next one.
  private func run(
    _ taken: TakenOperation, in context: OperationContext, _ turn: inout DrainTurn
  ) -> TakenOperation? {
    if taken.hasQuality, handOver(taken) {
      turn.ran += 1
      return takeNext(standingBack: executor.isOver(turn), onNewSlot: true)
    }
    // The membership's reference is ours to let go of unless the operation is on its own afterwards.
    let ending = execute(taken, in: context)
    turn.ran += 1
    let standsBack = executor.isOver(turn)
    switch ending {
    case .finished:
      let next = unsafe taken.operation._withUnsafeGuaranteedRef { operation in
        var next: TakenOperation?
        operation.settle(in: context) { released in
          next = retireAndTakeNext(operation, releasing: &released, standingBack: standsBack)
        }
        return next
      }
      unsafe taken.operation.release()
      return next
    case .finishedElsewhere:
      unsafe taken.operation.release()
      return takeNext(standingBack: standsBack, onNewSlot: false)
    case .isOnItsOwn:
      // The drain's slot stays with the operation.
      return takeNext(standingBack: standsBack, onNewSlot: true)
    }
  }

  private func execute(
    _ taken: TakenOperation, in context: OperationContext
  ) -> ThreadOperation.Ending {
    let isSkipped = taken.isSkipped
    let trace = activeTrace
    return unsafe taken.operation._withUnsafeGuaranteedRef { operation in
      guard let trace else { return operation.execute(in: context, skipping: isSkipped) }
      let identity = ObjectIdentifier(operation)
      trace.noteStart(operation, isSkipped: isSkipped)
      defer { trace.noteReturn(identity) }
      return operation.execute(in: context, skipping: isSkipped)
    }
  }

  /// Has an operation with a quality of its own run by the pool of that quality. It keeps its slot.
  ///
  /// - Returns: false if it is to run here.
  private func handOver(_ taken: TakenOperation) -> Bool {
    guard executor is PoolCore else { return false }
    let quality = unsafe taken.operation._withUnsafeGuaranteedRef { $0.quality } ?? .default
    let pool = ThreadPool.shared(quality)
    guard pool.core !== executor else { return false }
    let ticket = ElsewhereTicket(self, taken)
    do throws(ThreadOperationError) {
      try pool.run { ticket.run() }
      return true
    } catch {
      // That pool was shut down.
      ticket.isOfNoUse()
      return false
    }
  }

  /// Runs an operation on a thread that is no drain of this queue.
  ///
  /// - Parameters:
  ///   - taken: the operation. It may have been cancelled since it was taken.
  ///   - isDropped: that pool does no work any more: it is to finish without running.
  fileprivate func runElsewhere(_ taken: TakenOperation, isDropped: Bool) {
    let context = OperationContext.current
    let isCancelled = unsafe taken.operation._withUnsafeGuaranteedRef { operation in
      if isDropped { operation.cancel() }
      return operation.isCancelled
    }
    let now = unsafe TakenOperation(
      operation: taken.operation, isSkipped: taken.isSkipped || isCancelled, hasQuality: true)
    switch execute(now, in: context) {
    case .finished:
      unsafe taken.operation._withUnsafeGuaranteedRef { operation in
        operation.settle(in: context) { released in
          retire(operation, releasing: &released, freeingSlot: true)
        }
      }
      unsafe taken.operation.release()
    case .finishedElsewhere:
      unsafe taken.operation.release()
      change { unsafe state.pointee.freeSlot() }
    case .isOnItsOwn: break
    }
  }

  /// Whether a drain is to end: its turn is over, or there is one too many, since one has blocked, another has
  /// stood in, and the first goes on.
  @inline(__always)
  private func hasToEnd(_ isOver: Bool) -> Bool {
    unsafe isOver || state.pointee.drains > executor.drainLimit
  }

  private func takeNext(standingBack: Bool, onNewSlot: Bool) -> TakenOperation? {
    lock.lock()
    let standingBack = hasToEnd(standingBack)
    if onNewSlot { unsafe state.pointee.leaveSlot() }
    let next = unsafe state.pointee.take(standingBack: standingBack)
    let wanted = standingBack ? unsafe state.pointee.claimDrains(1, from: executor) : 0
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    return next
  }

  @inline(__always)
  private func retireAndTakeNext(
    _ operation: ThreadOperation, releasing released: inout ReleasedOperations,
    standingBack: Bool
  ) -> TakenOperation? {
    if let trace = activeTrace { trace.noteEnd(operation, queue: name) }
    lock.lock()
    let standingBack = hasToEnd(standingBack)
    let successor =
      standingBack ? nil : unsafe state.pointee.takeSuccessor(releasing: &released)
    let arrived = unsafe state.pointee.retire(operation, releasing: &released)
    let next = unsafe successor ?? state.pointee.take(standingBack: standingBack)
    // One of those that arrived, or one that waited before them, is taken by this drain.
    let wanted = unsafe state.pointee.claimDrains(
      successor != nil
        ? arrived : next == nil ? max(arrived, standingBack ? 1 : 0) : arrived - 1, from: executor)
    if unsafe state.pointee.memberCount == 0 { hasBecomeEmpty() }
    let news = unsafe state.pointee.takeNews()
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    if let news { news.tell() }
    return next
  }

  /// Takes a member out that was finished by another than its drain.
  func retire(
    _ operation: ThreadOperation, releasing released: inout ReleasedOperations, freeingSlot: Bool
  ) {
    if let trace = activeTrace { trace.noteEnd(operation, queue: name) }
    lock.lock()
    let arrived = unsafe state.pointee.retire(operation, releasing: &released)
    if freeingSlot { unsafe state.pointee.freeSlot() }
    let wanted = unsafe state.pointee.claimDrains(
      arrived + (freeingSlot ? 1 : 0), from: executor)
    if unsafe state.pointee.memberCount == 0 { hasBecomeEmpty() }
    let news = unsafe state.pointee.takeNews()
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    if let news { news.tell() }
  }
}

/// An operation on its way to the pool of its quality. If that is shut down at once, and drops what it has not begun,
/// the operation finishes as one that was cancelled.
private final class ElsewhereTicket: @unchecked Sendable {
  // SAFETY of @unchecked: the core is Sendable, the operation is the core's.
  private let core: QueueCore
  private let taken: TakenOperation
  private let isUsed = AtomicMark()

  init(_ core: QueueCore, _ taken: TakenOperation) {
    self.core = core
    self.taken = taken
  }

  deinit { if isUsed.set() { core.runElsewhere(taken, isDropped: true) } }

  func run() { if isUsed.set() { core.runElsewhere(taken, isDropped: false) } }

  /// The operation runs where it is.
  func isOfNoUse() { _ = isUsed.set() }
}
