internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// The inner part of a queue: its lists, its width and its drains. The public object is a handle on it,
/// so that the queue's operations can keep their queue alive without keeping the user's object alive.
///
/// A drain is one thread that runs the queue's operations one after another. Each drain holds a slot, of
/// which there are `width`; an asynchronous operation whose `main()` has returned takes the slot of its
/// drain over and gives it back when it finishes. So never more than `width` operations are under way.
final class QueueCore: DrainLane, @unchecked Sendable {
  // SAFETY of @unchecked: everything below that can change is guarded by `lock`.

  /// Never held while code of the user runs. Taken with an operation's lock held, and before an
  /// executor's lock.
  private let lock = FastMutex()
  private let emptied = ConditionVariable()

  let executor: any LaneExecutor

  // Guarded by `lock`, as is all that follows.
  private var ready = ReadyList()
  private var members = OperationList<MemberLinkage>()
  private(set) var memberCount = 0
  /// Slots in use: drains, and asynchronous operations on their own.
  private var slots = 0
  /// Drains asked for or running, but for those that block.
  private var drains = 0
  private var widthNow: Int
  private var isSuspendedNow = false
  private var epochs = EpochLine()
  /// The user's object, for `ThreadOperationQueue.current`.
  private weak var handle: ThreadOperationQueue?
  private var hasHandle = true
  /// Keeps the executor's threads for as long as the queue is of use.
  private var executorOwner: AnyObject?
  private var nameNow: String

  init(name: String, width: Int, executor: any LaneExecutor, owner: AnyObject?) {
    nameNow = name
    widthNow = width
    self.executor = executor
    executorOwner = owner
    super.init()
    executor.register(self)
  }

  deinit { executor.unregister(self) }

  // MARK: Taking operations in

  /// Takes operations in, all or none.
  func add(_ operations: [ThreadOperation], asBarrier: Bool = false) throws(ThreadOperationError) {
    for (index, operation) in operations.enumerated() {
      do throws(ThreadOperationError) {
        try claim(operation)
      } catch {
        for claimed in operations[..<index] { unclaim(claimed) }
        throw error
      }
    }
    lock.lock()
    var arrived = 0
    for operation in operations where enrol(operation, asBarrier: asBarrier) { arrived += 1 }
    let wanted = claimDrains(arrived)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  /// Takes one operation in.
  @inline(__always)
  func add(_ operation: ThreadOperation, asBarrier: Bool = false) throws(ThreadOperationError) {
    try claim(operation)
    lock.lock()
    let wanted = enrol(operation, asBarrier: asBarrier) ? claimDrains(1) : 0
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  private func claim(_ operation: ThreadOperation) throws(ThreadOperationError) {
    guard !executor.isShutDown else {
      throw ThreadOperationError(
        .poolIsShutDown, operation, "\(operation) cannot be added: the pool has been shut down")
    }
    let before = operation.update { word in
      guard word.phase == .pending else { return false }
      word.phase = .adding
      return true
    }
    guard before != nil else {
      throw ThreadOperationError(
        .alreadyUsed, operation, "\(operation) cannot be added: an operation runs once")
    }
    operation.core = self
  }

  private func unclaim(_ operation: ThreadOperation) {
    operation.core = nil
    operation.change { word in word.phase = .pending }
  }

  /// With the lock held: makes a claimed operation a member.
  ///
  /// - Returns: whether it is in the ready list.
  private func enrol(_ operation: ThreadOperation, asBarrier: Bool) -> Bool {
    // The reference that keeps it alive until it has finished; see `ThreadOperation.Ending`.
    let member = unsafe Unmanaged.passRetained(operation)
    unsafe members.append(member)
    memberCount += 1
    operation.epoch = asBarrier ? epochs.addBarrier() : epochs.add()
    advance()
    // acquiring and releasing: pairs with the dependencies that have finished.
    if operation.holds.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      return insert(operation, from: .adding)
    }
    operation.change { word in
      word.phase = .waiting
      word.bits |= OperationWord.isQueued
    }
    return false
  }

  /// With the lock held: puts an operation into the ready list, or into that of a later epoch.
  ///
  /// - Returns: whether it may start now.
  private func insert(_ operation: ThreadOperation, from phase: OperationWord.Phase) -> Bool {
    let before = operation.update { word in
      guard word.phase == phase else { return false }
      word.phase = .ready
      word.bits |= OperationWord.isQueued
      return true
    }
    guard let before else { return false }
    let link = unsafe Unmanaged.passUnretained(operation)
    if epochs.isCurrent(operation.epoch) {
      unsafe ready.append(link, before.priority)
      return true
    }
    unsafe epochs.hold(link, of: operation.epoch)
    return false
  }

  // MARK: Becoming ready

  /// Lets an operation be ready whose last hold is gone.
  func admit(_ operation: ThreadOperation) {
    lock.lock()
    let wanted = admitLocked(operation) ? claimDrains(1) : 0
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  /// Lets those of `released` be ready that belong to this queue.
  func admit(_ released: inout ReleasedOperations) {
    lock.lock()
    var arrived = 0
    released.take(of: self) { operation in
      if admitLocked(operation) { arrived += 1 }
    }
    let wanted = claimDrains(arrived)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  private func admitLocked(_ operation: ThreadOperation) -> Bool {
    // A dependency may have been added since the last hold went, and may have finished since: then
    // another call has admitted the operation, or will.
    // relaxed: `withdraw` changes it from 0 with the lock held.
    guard operation.holds.load(ordering: .relaxed) == 0 else { return false }
    return insert(operation, from: .waiting)
  }

  /// Has an operation without holds wait again, with one hold, because a dependency is being added.
  ///
  /// - Returns: false if it has been started.
  func withdraw(_ operation: ThreadOperation) -> Bool {
    lock.lock()
    defer { lock.unlock() }
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
    operation.holds.store(1, ordering: .relaxed)
    return true
  }

  /// With the lock held: takes a ready operation out of its list.
  private func takeOut(_ operation: ThreadOperation) {
    let link = unsafe Unmanaged.passUnretained(operation)
    if epochs.isCurrent(operation.epoch) {
      unsafe ready.remove(link)
    } else {
      unsafe epochs.release(link, of: operation.epoch)
    }
  }

  /// Puts a ready operation behind the others of its present priority.
  func relist(_ operation: ThreadOperation) {
    lock.lock()
    defer { lock.unlock() }
    let now = operation.load()
    guard now.phase == .ready, epochs.isCurrent(operation.epoch),
      operation.readyLevel != now.priority.rawValue
    else { return }
    let link = unsafe Unmanaged.passUnretained(operation)
    unsafe ready.remove(link)
    unsafe ready.append(link, now.priority)
  }

  // MARK: Drains

  /// With the lock held: takes slots for at most `count` drains more, which the caller is to request.
  private func claimDrains(_ count: Int) -> Int {
    guard !isSuspendedNow else { return 0 }
    let wanted = min(count, ready.count, widthNow - slots, executor.drainLimit - drains)
    guard wanted > 0 else { return 0 }
    slots += wanted
    drains += wanted
    return wanted
  }

  override func drain(in context: OperationContext) {
    var turn = executor.beginTurn()
    var next = takeNext(standingBack: false)
    while let taken = next { next = run(taken, in: context, &turn) }
  }

  /// Runs an operation and takes the next one.
  private func run(
    _ taken: TakenOperation, in context: OperationContext, _ turn: inout DrainTurn
  ) -> TakenOperation? {
    // The membership's reference is ours to let go of unless the operation is on its own afterwards.
    let operation = unsafe taken.operation.takeUnretainedValue()
    let ending = operation.execute(in: context, skipping: taken.isSkipped)
    turn.ran += 1
    let standsBack = executor.isOver(turn)
    switch ending {
    case .finished:
      var next: TakenOperation?
      operation.settle(in: context) { released in
        next = retireAndTakeNext(
          operation, releasing: &released, standingBack: standsBack)
      }
      unsafe taken.operation.release()
      return next
    case .finishedElsewhere:
      unsafe taken.operation.release()
      return takeNext(standingBack: standsBack)
    case .isOnItsOwn:
      return takeNextWithNewSlot(standingBack: standsBack)
    }
  }

  /// An operation that the caller is to run, in phase `executing`.
  @safe
  struct TakenOperation {
    let operation: Unmanaged<ThreadOperation>
    let isSkipped: Bool
  }

  /// With the lock held, for a drain: the next operation, or nil, in which case the drain has given up
  /// its slot and is to end.
  private func takeLocked(standingBack: Bool) -> TakenOperation? {
    if !standingBack, !isSuspendedNow, slots <= widthNow, let operation = unsafe ready.popFirst() {
      let before = unsafe operation._withUnsafeGuaranteedRef { operation in
        operation.change { word in word.phase = .executing }
      }
      return unsafe TakenOperation(
        operation: operation, isSkipped: before.has(OperationWord.cancelled))
    }
    slots -= 1
    drains -= 1
    return nil
  }

  private func takeNext(standingBack: Bool) -> TakenOperation? {
    lock.lock()
    let next = takeLocked(standingBack: standingBack)
    let wanted = standingBack ? claimDrains(1) : 0
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    return next
  }

  /// The drain's slot stays with an operation that is on its own.
  private func takeNextWithNewSlot(standingBack: Bool) -> TakenOperation? {
    lock.lock()
    slots += 1
    let next = takeLocked(standingBack: standingBack)
    let wanted = standingBack ? claimDrains(1) : 0
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    return next
  }

  private func retireAndTakeNext(
    _ operation: ThreadOperation, releasing released: inout ReleasedOperations,
    standingBack: Bool
  ) -> TakenOperation? {
    lock.lock()
    let arrived = retireLocked(operation, releasing: &released)
    let next = takeLocked(standingBack: standingBack)
    // One of those that arrived, or one that waited before them, is taken by this drain.
    let wanted = claimDrains(next == nil ? max(arrived, standingBack ? 1 : 0) : arrived - 1)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    return next
  }

  /// Takes a member out that was finished by another than its drain.
  func retire(
    _ operation: ThreadOperation, releasing released: inout ReleasedOperations, freeingSlot: Bool
  ) {
    lock.lock()
    let arrived = retireLocked(operation, releasing: &released)
    if freeingSlot { slots -= 1 }
    let wanted = claimDrains(arrived + (freeingSlot ? 1 : 0))
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  /// - Returns: how many operations came into the ready list.
  private func retireLocked(
    _ operation: ThreadOperation, releasing released: inout ReleasedOperations
  ) -> Int {
    unsafe members.remove(.passUnretained(operation))
    memberCount -= 1
    var arrived = 0
    if !released.isEmpty {
      released.take(of: self) { dependant in
        if admitLocked(dependant) { arrived += 1 }
      }
    }
    epochs.finishOne()
    arrived += advance()
    if memberCount == 0 {
      emptied.broadcast()
      dropOwnerIfUseless()
    }
    return arrived
  }

  /// With the lock held: opens the next epoch while the current one has nothing unfinished.
  ///
  /// - Returns: how many operations came into the ready list.
  @discardableResult
  private func advance() -> Int {
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

  override func drainWillBlock() {
    lock.lock()
    drains -= 1
    let wanted = claimDrains(ready.count)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  override func drainDidBlock() {
    lock.lock()
    drains += 1
    lock.unlock()
  }

  // MARK: What the user asks and sets

  var count: Int { lock.withLock { memberCount } }

  var operations: [ThreadOperation] {
    var all: [ThreadOperation] = []
    lock.lock()
    all.reserveCapacity(memberCount)
    members.forEach { all.append($0) }
    lock.unlock()
    return all
  }

  var name: String {
    get { lock.withLock { nameNow } }
    set { lock.withLock { nameNow = newValue } }
  }

  var width: Int {
    get { lock.withLock { widthNow } }
    set { change { widthNow = newValue } }
  }

  var isSuspended: Bool {
    get { lock.withLock { isSuspendedNow } }
    set { change { isSuspendedNow = newValue } }
  }

  private func change(_ body: () -> Void) {
    lock.lock()
    body()
    let wanted = claimDrains(ready.count)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  func cancelAll() { for operation in operations { operation.cancel() } }

  override func waitUntilEmpty(until deadline: MonotonicInstant) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while memberCount > 0 {
      let step = executor.tick(before: deadline)
      if !emptied.wait(lock, until: step), step == deadline { return memberCount == 0 }
    }
    return true
  }

  override func abandon() -> [ThreadOperation] {
    let unstarted = operations.filter { operation in
      operation.cancel()
      return operation.state != .executing
    }
    isSuspended = false
    if width == 0 { width = 1 }
    return unstarted
  }

  /// The user's object exists.
  func setHandle(_ made: ThreadOperationQueue) {
    lock.withLock {
      handle = made
      hasHandle = true
    }
  }

  /// The user's object goes away.
  func handleIsGone() {
    lock.lock()
    hasHandle = handle != nil
    // Nobody can resume it any more: what waits is cancelled, so that it ends and is freed.
    let isStuck = !hasHandle && memberCount > 0 && (isSuspendedNow || widthNow == 0)
    dropOwnerIfUseless()
    lock.unlock()
    if isStuck { _ = abandon() }
  }

  /// With the lock held: lets the executor's threads go once the queue is of no use any more. A finished
  /// operation may keep this object for long.
  private func dropOwnerIfUseless() {
    if !hasHandle, memberCount == 0 { executorOwner = nil }
  }

  /// The pool that runs the queue; nil for a queue on a run loop, or one that is of no use any more.
  var pool: ThreadPool? { lock.withLock { executorOwner as? ThreadPool } }

  /// The user's object, or a new one for the same queue if that is gone.
  var publicQueue: ThreadOperationQueue {
    if let handle = lock.withLock({ handle }) { return handle }
    return ThreadOperationQueue(core: self)
  }
}
