internal import Synchronization

/// What a queue keeps under its lock: its operations, which of them are ready, its slots and its drains.
///
/// A drain is one thread that runs the queue's operations one after another. Each drain holds a slot, of
/// which there are `width`; an asynchronous operation whose `main()` has returned takes the slot of its
/// drain over and gives it back when it finishes. So never more than `width` operations are under way.
///
/// All calls are made with the queue's lock held.
struct QueueState {
  private(set) var ready = ReadyList()
  private(set) var members = OperationList<MemberLinkage>()
  private(set) var memberCount = 0
  /// Slots in use: drains, and asynchronous operations on their own.
  private(set) var slots = 0
  /// Drains asked for or running, but for those that block.
  private(set) var drains = 0
  private var epochs = EpochLine()
  var width: Int
  var isSuspended = false
  /// Where operations are counted, if anywhere.
  private(set) var progress: WorkProgress?
  /// Operations that have become ready and are watched.
  private var readied: [ThreadOperation] = []

  init(width: Int) { self.width = width }

  // MARK: Taking operations in

  /// Makes a claimed operation a member.
  ///
  /// - Returns: whether it is in the ready list.
  @inline(__always)
  mutating func enrol(_ operation: ThreadOperation, asBarrier: Bool) -> Bool {
    // The reference that keeps it alive until it has finished; see `ThreadOperation.Ending`.
    let member = unsafe Unmanaged.passRetained(operation)
    unsafe members.append(member)
    memberCount += 1
    if let progress { progress.countTotal(1) }
    operation.epoch = asBarrier ? epochs.addBarrier() : epochs.add()
    if epochs.isOver { advance() }
    if operation.giveBack(1) {
      return insert(operation, from: .adding)
    }
    operation.change { word in
      word.phase = .waiting
      word.bits |= OperationWord.isQueued
    }
    return false
  }

  /// Puts an operation into the ready list, or into that of a later epoch.
  ///
  /// - Returns: whether it may start now.
  @inline(__always)
  private mutating func insert(
    _ operation: ThreadOperation, from phase: OperationWord.Phase
  ) -> Bool {
    let before = operation.update { word in
      guard word.phase == phase else { return false }
      word.phase = .ready
      word.bits |= OperationWord.isQueued
      return true
    }
    guard let before else { return false }
    if before.has(OperationWord.isWatched) { readied.append(operation) }
    let link = unsafe Unmanaged.passUnretained(operation)
    if epochs.isCurrent(operation.epoch) {
      unsafe ready.append(link, before.priority)
      return true
    }
    unsafe epochs.hold(link, of: operation.epoch)
    return false
  }

  /// Counts the members, and what is added from now on, in `counts`.
  mutating func track(in counts: WorkProgress) {
    counts.countTotal(memberCount)
    progress = counts
  }

  /// What others are to be told, without the lock, of the changes that were made; nil in most cases.
  @inline(__always)
  mutating func takeNews() -> QueueNews? {
    guard progress != nil || !readied.isEmpty else { return nil }
    defer { readied = [] }
    return QueueNews(readied: readied, progress: progress)
  }

  // MARK: Becoming ready

  /// Lets an operation be ready that waits and has no hold.
  ///
  /// - Returns: whether it is in the ready list.
  mutating func admit(_ operation: ThreadOperation) -> Bool {
    // A dependency may have been added since the last hold went, and may have finished since: then
    // another call has admitted the operation, or will.
    // relaxed: `withdraw` changes it from 0 with the lock held.
    guard ThreadOperation.count(operation.holds.load(ordering: .relaxed)) == 0 else { return false }
    return insert(operation, from: .waiting)
  }

  /// Has an operation without holds wait again, with one hold, because a dependency is being added.
  ///
  /// - Returns: false if it has been started.
  mutating func withdraw(_ operation: ThreadOperation) -> Bool {
    let before = operation.update { word in
      switch word.phase {
      case .waiting: return true
      case .ready:
        word.phase = .waiting
        return true
      default: return false
      }
    }
    guard let before else { return false }
    if before.phase == .ready { takeOut(operation) }
    // relaxed: nobody else counts from 0, and those that read it hold the lock.
    operation.holds.store(1 | ThreadOperation.hadDependencies, ordering: .relaxed)
    return true
  }

  /// Takes a ready operation out of its list.
  private mutating func takeOut(_ operation: ThreadOperation) {
    let link = unsafe Unmanaged.passUnretained(operation)
    if epochs.isCurrent(operation.epoch) {
      unsafe ready.remove(link)
    } else {
      unsafe epochs.release(link, of: operation.epoch)
    }
  }

  /// Puts a ready operation behind the others of its present priority.
  mutating func relist(_ operation: ThreadOperation) {
    let now = operation.load()
    guard now.phase == .ready, epochs.isCurrent(operation.epoch),
      operation.readyLevel != now.priority.rawValue
    else { return }
    let link = unsafe Unmanaged.passUnretained(operation)
    unsafe ready.remove(link)
    unsafe ready.append(link, now.priority)
  }

  // MARK: Drains

  /// Takes slots for at most `count` drains more, which the caller is to request.
  @inline(__always)
  mutating func claimDrains(_ count: Int, from executor: any LaneExecutor) -> Int {
    let free = min(count, ready.count, width - slots)
    guard free > 0, !isSuspended else { return 0 }
    let wanted = min(free, executor.drainLimit - drains)
    guard wanted > 0 else { return 0 }
    slots += wanted
    drains += wanted
    return wanted
  }

  /// For a drain: the next operation, or nil, in which case the drain has given up its slot and is to
  /// end.
  @inline(__always)
  mutating func take(standingBack: Bool) -> TakenOperation? {
    if !standingBack, !isSuspended, slots <= width, let operation = unsafe ready.popFirst() {
      let before = unsafe operation._withUnsafeGuaranteedRef { operation in
        operation.change { word in word.phase = .executing }
      }
      return unsafe TakenOperation(
        operation: operation, isSkipped: before.has(OperationWord.cancelled),
        hasQuality: before.has(OperationWord.hasQuality))
    }
    slots -= 1
    drains -= 1
    return nil
  }

  /// For a drain whose operation has finished: takes the one operation that has waited for it and may start now,
  /// if nothing else is ready. It goes through no list; who watches it hears of `ready` with `executing`.
  @inline(__always)
  mutating func takeSuccessor(releasing released: inout ReleasedOperations) -> TakenOperation? {
    guard ready.count == 0, !isSuspended, slots <= width, let successor = unsafe released.onlyOwn
    else { return nil }
    let before: OperationWord? = unsafe successor._withUnsafeGuaranteedRef { operation in
      guard epochs.isCurrent(operation.epoch) else { return nil }
      released.dropOnlyOwn()
      // From here on it is nobody's but the queue's, whose lock is held.
      guard operation.giveBack(1) else { return nil }
      return operation.change { word in word.phase = .executing }
    }
    guard let before else { return nil }
    return unsafe TakenOperation(
      operation: successor, isSkipped: before.has(OperationWord.cancelled),
      hasQuality: before.has(OperationWord.hasQuality))
  }

  /// The slot of a drain goes to an operation that is on its own, and the drain takes a new one.
  mutating func leaveSlot() { slots += 1 }

  /// An operation that was on its own has finished.
  mutating func freeSlot() { slots -= 1 }

  mutating func drainWillBlock() { drains -= 1 }
  mutating func drainDidBlock() { drains += 1 }

  /// Takes out a member that has finished, and takes its hold off those of `released` that wait in the queue.
  ///
  /// - Returns: how many operations came into the ready list.
  @inline(__always)
  mutating func retire(
    _ operation: ThreadOperation, releasing released: inout ReleasedOperations
  ) -> Int {
    unsafe members.remove(.passUnretained(operation))
    memberCount -= 1
    if let progress { progress.countCompleted() }
    var arrived = 0
    if released.hasOwn {
      released.takeOwn { dependant in
        if dependant.giveBack(1), insert(dependant, from: .waiting) { arrived += 1 }
      }
    }
    epochs.finishOne()
    if epochs.isOver { arrived += advance() }
    return arrived
  }

  /// Opens the next epoch while the current one has nothing unfinished.
  ///
  /// - Returns: how many operations came into the ready list.
  @discardableResult
  private mutating func advance() -> Int {
    var arrived = 0
    while var held = epochs.advance() {
      while let operation = unsafe held.popFirst() {
        let priority = unsafe operation._withUnsafeGuaranteedRef { $0.load().priority }
        unsafe ready.append(operation, priority)
        arrived += 1
      }
    }
    return arrived
  }
}

/// An operation that a drain is to run, in phase `executing`.
@safe
struct TakenOperation {
  let operation: Unmanaged<ThreadOperation>
  let isSkipped: Bool
  let hasQuality: Bool
}

/// What is to be told after changes of a queue, without its lock.
struct QueueNews {
  let readied: [ThreadOperation]
  let progress: WorkProgress?

  func tell() {
    for operation in readied { operation.tellWatchers() }
    progress?.tell()
  }
}
