public import ThreadingPlatform
public import ThreadingThreads

extension ThreadPool {
  /// A pool with one thread for each processor that the process may use, bound to it: for work whose data should
  /// stay in one processor's caches, with ``workerIndex`` to tell the parts of the data.
  ///
  /// All threads are started at once and stay. Threads that stand in while others block are not bound.
  ///
  /// - Parameters:
  ///   - name: what its threads are called, unless the attributes have a name.
  ///   - attributes: what its threads are started with. `cpus` chooses among the processors.
  /// - Returns: the pool.
  /// - Throws: a ``ThreadingError`` when an attribute is out of range or the system refuses a thread.
  public static func pinned(
    name: String = "pinned", attributes: ThreadAttributes = ThreadAttributes()
  ) throws(ThreadingError) -> ThreadPool {
    let processors: [Int]
    if let chosen = attributes.cpus {
      processors = chosen.numbers
    } else {
      processors = try CPUSet.allowed().numbers
    }
    var own = attributes
    if own.name == nil { own.name = name }
    own.isDetached = false
    own.cpus = nil
    let core = PoolCore(
      minimum: processors.count, maximum: processors.count, closureWidth: processors.count,
      idleTimeout: .seconds(10), attributes: own, processors: processors)
    let pool = ThreadPool(core)
    for _ in processors { try core.startFirst() }
    return pool
  }

  /// The number of the calling thread in its pool, from 0: none that lives at the same time has the same, and the
  /// smallest free one is given to the next, so numbers stay below the largest number of threads that the pool
  /// has had. nil elsewhere than on a thread of a pool.
  ///
  /// For state that each thread has for itself, see ``WorkerLocal``.
  public static var workerIndex: Int? { OperationContext.ifPresent?.workerIndex }
}
