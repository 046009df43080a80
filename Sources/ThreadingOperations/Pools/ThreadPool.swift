public import ThreadingPlatform
public import ThreadingThreads

/// Threads that run work for whoever needs one: closures, and the operations of queues.
///
/// ```swift
/// let pool = try ThreadPool(
///   name: "io", maximumThreads: 4, attributes: ThreadAttributes(stackSize: 1 << 20))
/// try pool.run { print("on a thread of the pool") }
/// pool.shutDown()
/// ```
///
/// Threads are started when there is work and none of them is free, up to the maximum, and end when they
/// have been idle for a time; the minimum stays. An idle pool sleeps: it wakes for work alone. A pool that nobody
/// holds any more finishes what it was given and ends its threads.
///
/// If the system refuses a thread, the work waits for a thread that is free, and the pool tries again with
/// the next work and while somebody waits for it.
///
/// - Note: All methods may be called from any thread.
public final class ThreadPool: Sendable {
  let core: PoolCore
  private let closures: ClosureLane

  /// The pool of queues that have none of their own: up to 256 threads with the process's default
  /// attributes, scheduled as its main thread is. Its threads are started when they are first needed. Of bare closures it runs
  /// ``AvailableParallelism/current`` at once.
  public static let shared = ThreadPool(
    PoolCore(
      minimum: 0, maximum: 256, closureWidth: AvailableParallelism.current,
      idleTimeout: .seconds(10), attributes: ThreadAttributes(name: "pool"),
      maker: SystemThread.processID))

  /// A pool of its own.
  ///
  /// The minimum of threads, but at least one, is started at once, which shows whether the attributes are
  /// accepted.
  ///
  /// - Parameters:
  ///   - name: what its threads are called, unless the attributes have a name.
  ///   - minimumThreads: how many threads stay when there is no work, from 0 up to the maximum; 1 unless given.
  ///   - maximumThreads: how many threads work at once, from 1; ``AvailableParallelism/current`` unless
  ///     given. Threads inside ``blocking(_:)`` do not count.
  ///   - attributes: what its threads are started with. Without a policy in them, the threads are scheduled as
  ///     those that the calling thread starts, whoever has work for them later; where the process lacks the right
  ///     to raise what a thread has from such a one, it stays so.
  ///   - idleTimeout: after how long without work a thread ends.
  /// - Throws: a ``ThreadingError`` when an attribute is out of range or the system refuses a thread.
  /// - Precondition: `maximumThreads` is at least 1, and `minimumThreads` from 0 to `maximumThreads`. If not, the
  ///   program stops.
  public convenience init(
    name: String = "pool", minimumThreads: Int = 1, maximumThreads: Int? = nil,
    attributes: ThreadAttributes = ThreadAttributes(), idleTimeout: Duration = .seconds(10)
  ) throws(ThreadingError) {
    let maximum = maximumThreads ?? AvailableParallelism.current
    require(
      maximum >= 1, "ThreadPool: a pool of \(maximum) threads runs nothing; at least 1 is needed")
    require(
      (0...maximum).contains(minimumThreads),
      "ThreadPool: a minimum of \(minimumThreads) threads; from 0 to the maximum of \(maximum) is possible"
    )
    var own = attributes
    if own.name == nil { own.name = name }
    // The pool joins its threads itself.
    own.isDetached = false
    let core = PoolCore(
      minimum: minimumThreads, maximum: maximum, closureWidth: maximum, idleTimeout: idleTimeout,
      attributes: own)
    for started in 0..<max(1, minimumThreads) {
      do throws(ThreadingError) {
        try core.startFirst()
      } catch {
        if started > 0 { core.isDropped() }
        throw error
      }
    }
    self.init(core)
  }

  init(_ core: PoolCore) {
    self.core = core
    closures = ClosureLane(executor: core)
  }

  deinit { core.isDropped() }

  /// Has a thread of the pool run `body`, as soon as one is free.
  ///
  /// Closures that are given from outside begin in the order in which they were given; where several threads
  /// work, give or take the few that one of them takes at once while many wait. One that is given by a
  /// closure of the same pool is put aside by its thread, at the cost of a few atomic steps and without a lock:
  /// the thread goes on with the one that it has put aside last, and threads that have nothing else to do take
  /// those that it has put aside first. Neither kind holds up the other for ever.
  ///
  /// What the caller wrote before happens before `body`.
  ///
  /// - Parameter body: the work.
  /// - Throws: ``ThreadOperationError/Reason/poolIsShutDown`` when the pool has been shut down; `body` is
  ///   then released without being called.
  public func run(
    _ body: consuming @escaping @Sendable () -> Void
  ) throws(ThreadOperationError) {
    guard !core.isShutDown else {
      throw ThreadOperationError(
        .poolIsShutDown, message: "ThreadPool.run: the pool has been shut down")
    }
    closures.add(Job(body))
  }

  /// Tells the pool that the calling thread may be blocked for a while in `body`, so that the pool lets
  /// another thread work meanwhile. Elsewhere than on a thread of a pool, it just calls `body`.
  ///
  /// Waiting for operations and queues of this package does this by itself.
  ///
  /// - Parameter body: what may block.
  /// - Returns: what `body` returned.
  /// - Throws: what `body` throws.
  public static func blocking<Result: ~Copyable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let context = OperationContext.ifPresent, let pool = context.pool, !context.isBlocking
    else { return try body() }
    context.isBlocking = true
    pool.willBlock(context.lane)
    defer {
      pool.didBlock(context.lane)
      context.isBlocking = false
    }
    return try body()
  }

  /// How many threads work at once at most; at least 1. Threads inside ``blocking(_:)`` do not count.
  public var maximumThreads: Int { core.maximumThreads }

  /// How many threads there are at this moment.
  public var threadCount: Int { core.threadCount }

  /// How many of them sleep, waiting for work.
  public var idleThreadCount: Int { core.idleThreadCount }

  // MARK: Shutting down

  /// Takes no more work, waits until all that was taken is done, and ends the threads.
  ///
  /// Work of queues counts too; an operation that waits for another pool's operation is waited for, and so
  /// is a suspended queue. Everything that the work wrote happens before a return of true.
  ///
  /// - Parameter deadline: when to give up. The pool takes no work even then; it may be called again, and
  ///   ``shutDownNow(until:)`` too.
  /// - Returns: Whether all is done and the threads have ended.
  /// - Precondition: The calling thread is none of the pool's. If it is, the program stops.
  @available(*, noasync, message: "shutDown blocks the calling thread")
  @discardableResult
  public func shutDown(until deadline: MonotonicInstant = .distantFuture) -> Bool {
    refuseOwnThread("shutDown")
    core.close()
    return core.forEachLane { $0.waitUntilEmpty(until: deadline) }
      && core.joinAll(until: deadline)
  }

  /// Takes no more work, cancels all that has not begun, asks what runs to end early, waits for it and ends
  /// the threads. Suspended queues are resumed, so that their operations end.
  ///
  /// - Parameter deadline: when to give up waiting; it may be called again.
  /// - Returns: the operations that had not started when they were cancelled. Bare closures that had not
  ///   begun are released.
  /// - Precondition: The calling thread is none of the pool's. If it is, the program stops.
  @available(*, noasync, message: "shutDownNow blocks the calling thread")
  @discardableResult
  public func shutDownNow(until deadline: MonotonicInstant = .distantFuture) -> [ThreadOperation] {
    refuseOwnThread("shutDownNow")
    core.close()
    var unstarted: [ThreadOperation] = []
    // An operation may be all that keeps its queue, which must not go away while the core has it in hand.
    var held: [[ThreadOperation]] = []
    defer { withExtendedLifetime(held) {} }
    _ = core.forEachLane { lane in
      held.append(lane.members())
      unstarted += lane.abandon()
      return true
    }
    _ = core.forEachLane { $0.waitUntilEmpty(until: deadline) } && core.joinAll(until: deadline)
    return unstarted
  }

  private func refuseOwnThread(_ method: String) {
    if OperationContext.ifPresent?.pool === core {
      fatalError("ThreadPool.\(method): a thread of the pool would wait for its own end")
    }
  }
}
