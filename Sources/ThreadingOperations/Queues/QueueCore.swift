internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform
internal import ThreadingThreads

/// The inner part of a queue. The public object is a handle on it, so that the queue's operations can keep
/// their queue alive without keeping the user's object alive.
@safe
final class QueueCore: DrainLane, @unchecked Sendable {
  // SAFETY of @safe: the pointer is valid for as long as the object.
  // SAFETY of @unchecked: everything below that can change is guarded by `lock`.

  /// Never held while code of the user runs. Taken with an operation's lock held, and before an
  /// executor's lock.
  let lock = FastMutex()
  private let emptied = ConditionVariable()

  let executor: any LaneExecutor

  /// The quality of its executor's threads; nil where they are started with other attributes.
  let quality: ThreadQuality?

  /// Whether threads bear the queue's name while they work for it. relaxed: nothing goes with it.
  let lendsName = Atomic<Bool>(false)

  /// Whether `traceNow` is there, for looks without the lock. relaxed: whoever comes late is not recorded.
  private let isTraced = Atomic<Bool>(false)

  /// Whether it belongs to an operation: what a pool has taken before its shutdown it does, with all its parts.
  private let isInner: Bool

  /// Guarded by `lock`, as is all that follows. Behind a pointer, since Swift checks accesses to the
  /// properties of an object at run time, which took a third of an operation's whole cost.
  let state: UnsafeMutablePointer<QueueState>
  /// The user's object, for `ThreadOperationQueue.current`.
  private weak var handle: ThreadOperationQueue?
  private var hasHandle = true
  /// Keeps the executor's threads for as long as the queue is of use.
  private var executorOwner: AnyObject?
  private var nameNow: String
  private var traceNow: OperationTrace?

  init(
    name: String, width: Int, executor: any LaneExecutor, owner: AnyObject?,
    quality: ThreadQuality? = nil, isInner: Bool = false
  ) {
    nameNow = name
    self.isInner = isInner
    self.quality = quality
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: QueueState(width: width))
    self.executor = executor
    executorOwner = owner
    super.init()
    executor.register(self)
  }

  deinit {
    executor.unregister(self)
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  // MARK: Taking operations in

  /// Takes operations in, all or none.
  func add(_ operations: [ThreadOperation], asBarrier: Bool = false) throws(ThreadOperationError) {
    let trace = activeTrace
    // The array keeps them: references without a count of their own make this a good deal cheaper.
    let links = unsafe operations.map { unsafe Unmanaged.passUnretained($0) }
    for index in unsafe links.indices {
      let link = unsafe links[index]
      let refusal = unsafe link._withUnsafeGuaranteedRef { claim($0) }
      if let refusal {
        for claimed in operations[..<index] {
          trace?.noteRefused(claimed)
          unclaim(claimed)
        }
        throw refusal
      }
      if let trace { unsafe link._withUnsafeGuaranteedRef { trace.noteAdding($0) } }
    }
    lock.lock()
    var arrived = 0
    for index in unsafe links.indices {
      let isReady = unsafe links[index]._withUnsafeGuaranteedRef { operation in
        unsafe state.pointee.enrol(operation, asBarrier: asBarrier)
      }
      if isReady { arrived += 1 }
    }
    let wanted = unsafe state.pointee.claimDrains(arrived, from: executor)
    let news = unsafe state.pointee.takeNews()
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    if let news { news.tell() }
  }

  /// Takes one operation in.
  func add(_ operation: ThreadOperation, asBarrier: Bool = false) throws(ThreadOperationError) {
    if let refusal = claim(operation) { throw refusal }
    activeTrace?.noteAdding(operation)
    lock.lock()
    let isReady = unsafe state.pointee.enrol(operation, asBarrier: asBarrier)
    let wanted = isReady ? unsafe state.pointee.claimDrains(1, from: executor) : 0
    let news = unsafe state.pointee.takeNews()
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    if let news { news.tell() }
  }

  /// Makes an operation this queue's.
  ///
  /// - Returns: why it cannot be; nil if it can.
  @inline(__always)
  private func claim(_ operation: ThreadOperation) -> ThreadOperationError? {
    guard isInner ? !executor.hasEnded : !executor.isShutDown else {
      return ThreadOperationError(
        .poolIsShutDown, operation, "\(operation) cannot be added: the pool has been shut down")
    }
    let before = operation.update { word in
      guard word.phase == .pending else { return false }
      word.phase = .adding
      return true
    }
    guard before != nil else {
      return ThreadOperationError(
        .alreadyUsed, operation, "\(operation) cannot be added: an operation runs once")
    }
    operation.core = self
    return nil
  }

  private func unclaim(_ operation: ThreadOperation) {
    operation.core = nil
    operation.change { word in word.phase = .pending }
  }

  // MARK: Becoming ready

  /// Lets an operation be ready whose last hold is gone.
  func admit(_ operation: ThreadOperation) {
    lock.lock()
    let isReady = unsafe state.pointee.admit(operation)
    let wanted = isReady ? unsafe state.pointee.claimDrains(1, from: executor) : 0
    let news = unsafe state.pointee.takeNews()
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    if let news { news.tell() }
  }

  /// Lets operations be ready whose last hold is gone.
  func admit(_ operations: [ThreadOperation]) {
    lock.lock()
    var arrived = 0
    for operation in operations where unsafe state.pointee.admit(operation) { arrived += 1 }
    let wanted = unsafe state.pointee.claimDrains(arrived, from: executor)
    let news = unsafe state.pointee.takeNews()
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    if let news { news.tell() }
  }

  /// Has an operation without holds wait again, with one hold, because a dependency is being added.
  ///
  /// - Returns: false if it has been started.
  func withdraw(_ operation: ThreadOperation) -> Bool {
    lock.withLock { unsafe state.pointee.withdraw(operation) }
  }

  /// Puts a ready operation behind the others of its present priority.
  func relist(_ operation: ThreadOperation) {
    lock.withLock { unsafe state.pointee.relist(operation) }
  }

  // MARK: Drains

  override func drain(in context: OperationContext) {
    // relaxed: a drain that comes too early for the setting keeps the thread's name.
    guard lendsName.load(ordering: .relaxed) else { return runAll(in: context) }
    let thread = ThreadHandle.current
    let nameBefore = thread.name
    thread.name = name
    runAll(in: context)
    thread.name = nameBefore
  }

  /// With the lock held.
  func hasBecomeEmpty() {
    emptied.broadcast()
    dropOwnerIfUseless()
  }

  override func drainWillBlock() { change { unsafe state.pointee.drainWillBlock() } }
  override func drainDidBlock() { lock.withLock { unsafe state.pointee.drainDidBlock() } }

  // MARK: What the user asks and sets

  var count: Int { lock.withLock { unsafe state.pointee.memberCount } }

  var operations: [ThreadOperation] {
    var all: [ThreadOperation] = []
    lock.lock()
    unsafe all.reserveCapacity(state.pointee.memberCount)
    unsafe state.pointee.members.forEach { all.append($0) }
    lock.unlock()
    return all
  }

  var name: String {
    get { lock.withLock { nameNow } }
    set { lock.withLock { nameNow = newValue } }
  }

  var width: Int {
    get { lock.withLock { unsafe state.pointee.width } }
    set { change { unsafe state.pointee.width = newValue } }
  }

  var isSuspended: Bool {
    get { lock.withLock { unsafe state.pointee.isSuspended } }
    set { change { unsafe state.pointee.isSuspended = newValue } }
  }

  /// Makes a change with the lock held, and asks for the drains that may run after it.
  func change(_ body: () -> Void) {
    lock.lock()
    body()
    let wanted = unsafe state.pointee.claimDrains(.max, from: executor)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  var trace: OperationTrace? {
    get { lock.withLock { traceNow } }
    set {
      let before = lock.withLock {
        let before = traceNow
        traceNow = newValue
        isTraced.store(newValue != nil, ordering: .relaxed)
        return before
      }
      // Released without the lock.
      withExtendedLifetime(before) {}
    }
  }

  @inline(__always)
  var activeTrace: OperationTrace? {
    isTraced.load(ordering: .relaxed) ? trace : nil
  }

  func trackProgress() -> WorkProgress {
    let progress = WorkProgress()
    lock.lock()
    let before = unsafe state.pointee.progress
    unsafe state.pointee.track(in: progress)
    lock.unlock()
    // Released without the lock.
    withExtendedLifetime(before) {}
    return progress
  }

  func cancelAll() { _ = cancel(operations) }

  /// Marks those that have not started before those that execute, and all before it tells any: one that ends at
  /// once, because it sees the mark or is told, makes room for another, which is not to start then.
  ///
  /// - Returns: those that had not started, and will not.
  private func cancel(_ operations: [ThreadOperation]) -> [ThreadOperation] {
    var marked: [(ThreadOperation, OperationWord)] = []
    var unstarted: [ThreadOperation] = []
    var others: [ThreadOperation] = []
    for operation in operations {
      if let before = operation.markCancelled(ifNotStarted: true) {
        marked.append((operation, before))
        unstarted.append(operation)
      } else if operation.hasNotStarted {
        // Cancelled before, and not come to its turn yet.
        unstarted.append(operation)
      } else {
        others.append(operation)
      }
    }
    for operation in others {
      if let before = operation.markCancelled() { marked.append((operation, before)) }
    }
    for (operation, before) in marked { operation.wasCancelled(before) }
    return unstarted
  }

  override func waitUntilEmpty(until deadline: MonotonicInstant) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while unsafe state.pointee.memberCount > 0 {
      let step = executor.tick(before: deadline)
      if !emptied.wait(lock, until: step), step == deadline {
        return unsafe state.pointee.memberCount == 0
      }
    }
    return true
  }

  override func members() -> [ThreadOperation] { operations }

  override func abandon() -> [ThreadOperation] {
    let unstarted = cancel(operations)
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
    let isStuck =
      unsafe !hasHandle && state.pointee.memberCount > 0
      && (state.pointee.isSuspended || state.pointee.width == 0)
    dropOwnerIfUseless()
    lock.unlock()
    if isStuck { _ = abandon() }
  }

  /// With the lock held: lets the executor's threads go once the queue is of no use any more. A finished
  /// operation may keep this object for long.
  private func dropOwnerIfUseless() {
    if !hasHandle, unsafe state.pointee.memberCount == 0 { executorOwner = nil }
  }

  /// The pool that runs the queue; nil for a queue on a run loop, or one that is of no use any more.
  var pool: ThreadPool? { lock.withLock { executorOwner as? ThreadPool } }

  /// The user's object, or a new one for the same queue if that is gone.
  var publicQueue: ThreadOperationQueue {
    if let handle = lock.withLock({ handle }) { return handle }
    return ThreadOperationQueue(core: self)
  }
}
