public import ThreadingPlatform
public import ThreadingRunLoop
public import ThreadingThreads

/// Runs operations on threads: as many at once as its width, each when its dependencies have finished, by
/// priority, and of one priority in the order in which they became ready.
///
/// ```swift
/// let queue = ThreadOperationQueue(name: "thumbnails", width: 2)
/// let load = try queue.add { print("load") }
/// let draw = ClosureOperation { print("draw") }
/// try draw.addDependency(load)
/// try queue.add(draw)
/// queue.waitForAll()
/// ```
///
/// A queue of width 1 is strictly serial: operations without dependencies and of one priority run in the
/// order in which they were added.
///
/// A queue that nobody holds any more still runs all that it was given. If it is suspended at that moment,
/// nobody can resume it: then its operations are cancelled, so that they finish and are freed.
///
/// - Note: All methods may be called from any thread.
public final class ThreadOperationQueue: Sendable {
  let core: QueueCore

  /// A queue on the threads of ``ThreadPool/shared``.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - width: how many operations may be under way at once;
  ///     ``AvailableParallelism/current`` unless given. 0 lets none start.
  /// - Precondition: `width` is not negative. If it is, the program stops.
  public convenience init(name: String = "queue", width: Int? = nil) {
    self.init(name: name, width: width, pool: .shared)
  }

  /// A queue on the threads of a pool that others may use too.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - width: how many operations may be under way at once, as far as the pool has threads for
  ///     them; as many as the pool may have unless given. 0 lets none start.
  ///   - pool: what runs the operations; kept for as long as the queue is of use.
  /// - Precondition: `width` is not negative. If it is, the program stops.
  public convenience init(name: String = "queue", width: Int? = nil, pool: ThreadPool) {
    let width = Self.checked(width ?? min(pool.core.closureWidth, pool.maximumThreads))
    self.init(core: QueueCore(name: name, width: width, executor: pool.core, owner: pool))
  }

  /// A queue whose operations are done with a quality of service, on the threads of
  /// ``ThreadPool/shared(_:)``.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - width: how many operations may be under way at once; as many as the process may use
  ///     processors unless given. 0 lets none start.
  ///   - quality: how its work is scheduled; an operation may have another, see ``ThreadOperation/quality``.
  /// - Precondition: `width` is not negative. If it is, the program stops.
  public convenience init(name: String = "queue", width: Int? = nil, quality: ThreadQuality) {
    let pool = ThreadPool.shared(quality)
    let width = Self.checked(width ?? pool.core.closureWidth)
    self.init(
      core: QueueCore(
        name: name, width: width, executor: pool.core, owner: pool, quality: quality))
  }

  /// A queue with threads of its own, started with the given attributes: as many as its width, at most
  /// 256.
  ///
  /// The first thread is started at once, which shows whether the attributes are accepted.
  ///
  /// - Parameters:
  ///   - name: for messages and listings, and what the threads are called unless the attributes
  ///     have a name.
  ///   - width: how many operations may be under way at once; as many as the process may use
  ///     processors unless given.
  ///   - attributes: what the threads are started with.
  /// - Throws: a ``ThreadingError`` when an attribute is out of range or the system refuses a thread.
  /// - Precondition: `width` is not negative. If it is, the program stops.
  public convenience init(
    name: String = "queue", width: Int? = nil, attributes: ThreadAttributes
  ) throws(ThreadingError) {
    let width = Self.checked(width ?? AvailableParallelism.current)
    let pool = try ThreadPool(
      name: name, maximumThreads: min(max(1, width), 256), attributes: attributes)
    self.init(core: QueueCore(name: name, width: width, executor: pool.core, owner: pool))
  }

  /// A queue whose operations run on the thread of a run loop, one at a time, while it runs in one of the
  /// given modes. Between operations the loop serves its timers and sources, at the latest after 2
  /// milliseconds.
  ///
  /// When the loop's thread ends, what could start is cancelled with all that is in the queue, and nothing can be
  /// added any more. If nothing could start, since the queue is suspended or waits for others, this comes when
  /// something could.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - loop: whose thread runs the operations.
  ///   - modes: the modes in which it does.
  public convenience init(
    name: String = "queue", loop: ThreadRunLoop, modes: ThreadRunLoop.ModeSet = .common
  ) {
    self.init(
      core: QueueCore(name: name, width: 1, executor: LoopExecutor(loop, modes), owner: nil))
  }

  /// The queue whose operations run on the main thread, while it runs its loop.
  public static let main = ThreadOperationQueue(name: "main", loop: .main)

  init(core: QueueCore) {
    self.core = core
    core.setHandle(self)
  }

  deinit { core.handleIsGone() }

  private static func checked(_ width: Int) -> Int {
    require(width >= 0, "ThreadOperationQueue: a width of \(width) is negative")
    return width
  }

  // MARK: Adding

  /// Adds an operation, which starts when its dependencies have finished and its turn has come.
  ///
  /// The queue keeps it alive until it has finished.
  ///
  /// - Parameter operation: one that is in no queue and was not started.
  /// - Throws: ``ThreadOperationError/Reason/alreadyUsed`` if it is in a queue, was started or has
  ///   finished; ``ThreadOperationError/Reason/poolIsShutDown``. Nothing has changed then.
  public func add(_ operation: ThreadOperation) throws(ThreadOperationError) {
    try core.add(operation)
  }

  /// Adds several operations in one step: all of them, or none.
  ///
  /// - Parameter operations: operations that are in no queue and were not started, none of them twice.
  /// - Throws: as ``add(_:)-(ThreadOperation)``. Nothing has changed then.
  public func add(contentsOf operations: [ThreadOperation]) throws(ThreadOperationError) {
    try core.add(operations)
  }

  /// Adds an operation that runs a closure.
  ///
  /// ```swift
  /// let save = try queue.add { try document.save() }
  /// save.wait()
  /// if let error = save.error { print(error) }
  /// ```
  ///
  /// - Parameter body: the work. What it throws is the operation's ``ThreadOperation/error``. For a closure that
  ///   computes a value, see ``compute(name:_:)``.
  /// - Returns: the operation, which need not be kept.
  /// - Throws: ``ThreadOperationError/Reason/poolIsShutDown``.
  @discardableResult
  public func add(
    _ body: consuming @escaping @Sendable () throws -> Void
  ) throws(ThreadOperationError) -> ClosureOperation {
    let operation = ClosureOperation(body)
    try core.add(operation)
    return operation
  }

  /// Adds an operation that starts when all operations that were added before have finished, and before
  /// which none of those added later starts. Costs O(1).
  ///
  /// An operation added before a barrier must not depend on it, nor on one added after it: they would wait
  /// for each other for ever.
  ///
  /// - Parameter barrier: one that is in no queue and was not started.
  /// - Throws: as ``add(_:)-(ThreadOperation)``.
  public func addBarrier(_ barrier: ThreadOperation) throws(ThreadOperationError) {
    try core.add(barrier, asBarrier: true)
  }

  /// Adds a closure as a barrier; see ``addBarrier(_:)-(ThreadOperation)``.
  ///
  /// - Parameter body: the work.
  /// - Returns: the operation, which need not be kept.
  /// - Throws: ``ThreadOperationError/Reason/poolIsShutDown``.
  @discardableResult
  public func addBarrier(
    _ body: consuming @escaping @Sendable () throws -> Void
  ) throws(ThreadOperationError) -> ClosureOperation {
    let operation = ClosureOperation(body)
    try core.add(operation, asBarrier: true)
    return operation
  }

  // MARK: Steering

  /// Cancels every operation that is in the queue at this moment; see ``ThreadOperation/cancel()``.
  ///
  /// None of them starts because another one of them ends early.
  public func cancelAll() { core.cancelAll() }

  /// Lets no further operation start until ``resume()``. Those that are under way go on. Suspending twice
  /// is as suspending once.
  public func suspend() { core.isSuspended = true }

  /// Lets operations start again.
  public func resume() { core.isSuspended = false }

  /// Whether the queue lets no operation start.
  public var isSuspended: Bool { core.isSuspended }

  /// How many operations may be under way at once. May be changed at any time: a smaller width holds back
  /// operations that have not started. 0 lets none start.
  ///
  /// - Precondition: It is not set to a negative number. If it is, the program stops.
  public var width: Int {
    get { core.width }
    set { core.width = Self.checked(newValue) }
  }

  /// The name, for messages and listings.
  public var name: String {
    get { core.name }
    set { core.name = newValue }
  }

  /// The quality of service of the queue; nil for one that was made without.
  public var quality: ThreadQuality? { core.quality }

  /// Whether a thread bears the queue's name while it works for the queue, in listings of the system too, and its
  /// own again after. False at first: it costs two system calls each time a thread begins, not for each
  /// operation. A thread that is at work goes on as it began.
  public var namesThreads: Bool {
    get { core.lendsName.load(ordering: .relaxed) }
    set { core.lendsName.store(newValue, ordering: .relaxed) }
  }

  /// Where the queue records its operations; nil for nowhere. May be changed at any time: an operation is
  /// recorded if the trace was there when it was added.
  public var trace: OperationTrace? {
    get { core.trace }
    set { core.trace = newValue }
  }

  /// How many operations were added and have not finished. An operation is counted no longer when a wait
  /// for it returns.
  public var operationCount: Int { core.count }

  /// The operations that were added and have not finished, in the order in which they were added. Costs
  /// O(n).
  public var operations: [ThreadOperation] { core.operations }

  /// The queue on whose behalf the calling thread runs an operation or a completion block; nil outside, and
  /// inside an operation that was started by hand.
  public static var current: ThreadOperationQueue? {
    OperationContext.ifPresent?.currentQueue?.publicQueue
  }

  // MARK: Waiting

  /// Waits until every operation has finished, also those that are added meanwhile.
  ///
  /// Called on a thread of a pool, it lets the pool start another thread meanwhile.
  ///
  /// - Precondition: The calling thread is not inside an operation of the queue. If it is, the program stops.
  @available(*, noasync, message: "waitForAll() blocks the calling thread")
  public func waitForAll() { _ = waitForAll(until: .distantFuture) }

  /// Waits until every operation has finished or a time has passed.
  ///
  /// - Returns: Whether every operation had finished.
  /// - Precondition: The calling thread is not inside an operation of the queue. If it is, the program stops.
  @available(*, noasync, message: "waitForAll(for:) blocks the calling thread")
  public func waitForAll(for duration: Duration) -> Bool {
    waitForAll(until: .now.advanced(by: duration))
  }

  /// Waits until every operation has finished or a moment has come.
  ///
  /// What the operations wrote happens before a return of true.
  ///
  /// - Returns: Whether every operation had finished.
  /// - Precondition: The calling thread is not inside an operation of the queue. If it is, the program stops.
  @available(*, noasync, message: "waitForAll(until:) blocks the calling thread")
  public func waitForAll(until deadline: MonotonicInstant) -> Bool {
    if OperationContext.ifPresent?.currentQueue === core {
      fatalError(
        "ThreadOperationQueue.waitForAll: an operation of \"\(name)\" would wait for itself")
    }
    if core.executor.servesOnlyOnCurrentThread(), core.count > 0 {
      fatalError(
        "ThreadOperationQueue.waitForAll: \"\(name)\" runs on the loop of the thread that would wait"
      )
    }
    return ThreadPool.blocking { core.waitUntilEmpty(until: deadline) }
  }
}

extension ThreadOperationQueue: CustomStringConvertible {
  /// The name, and how many operations have not finished.
  public var description: String {
    "ThreadOperationQueue \"\(name)\" (\(operationCount) unfinished)"
  }
}
