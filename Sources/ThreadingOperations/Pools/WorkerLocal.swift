internal import Synchronization
internal import ThreadingLocks

/// A value for each thread of a pool, for counts, buffers and parts of results that threads should not fight for.
///
/// ```swift
/// let words = WorkerLocal { [String: Int]() }
/// parallelForEach(lines) { line in
///   words.withValue { counts in
///     for word in line.split(separator: " ") { counts[String(word), default: 0] += 1 }
///   }
/// }
/// let total = words.takeValues().reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
/// ```
///
/// Each thread of the pool has a value of its own, made when it first asks. A thread that ends leaves its value
/// to the one that gets its number (see ``ThreadPool/workerIndex``), so there are no more values than the pool
/// has had threads at once. Whoever else asks is lent a value for the length of the call: a thread that is none of
/// the pool's, as the one that calls a parallel loop and works in it, and a thread of the pool that is inside
/// ``withValue(_:)`` already. So each value is reached by one thread at a time, and all values together hold what
/// was done.
///
/// The pool is not kept by it.
///
/// - Note: All methods may be called from any thread. On a thread of the pool, ``withValue(_:)`` costs a
///   thread-local read and a lock that nobody else wants, about 20 nanoseconds; elsewhere two locks more.
@safe
public final class WorkerLocal<Value: Sendable>: Sendable {
  // SAFETY of @safe: the tables are kept by `lists` for as long as the object.

  private let core: PoolCore
  private let makeValue: @Sendable () -> Value

  /// Guards the lists; never held while a place's lock is waited for, nor while code of the user runs.
  private let lists: Locked<Lists>
  /// The table for looks without the lock. releasing, acquiring: who sees a table sees what is in it.
  private let table: Atomic<Unmanaged<Table>>

  private struct Lists {
    /// The latest table last. Those before are kept, since a thread may still be reading in them.
    var tables: [Table]
    /// All places that are lent, and those of them that nobody has at the moment.
    var lent: [WorkerPlace<Value>] = []
    var free: [WorkerPlace<Value>] = []
  }

  /// The places of the threads, by their numbers. Never changed.
  private final class Table: Sendable {
    let places: [WorkerPlace<Value>]

    init(_ places: [WorkerPlace<Value>]) { self.places = places }
  }

  /// Values of which none has been made yet.
  ///
  /// - Parameters:
  ///   - pool: whose threads have values of their own.
  ///   - makeValue: makes a value when it is first asked for, on the thread that asks.
  public init(on pool: ThreadPool = .shared, _ makeValue: @escaping @Sendable () -> Value) {
    core = pool.core
    self.makeValue = makeValue
    let first = Table([])
    lists = Locked(Lists(tables: [first]))
    unsafe table = Atomic(.passUnretained(first))
  }

  /// Calls `body` with the calling thread's value, which it may change in place.
  ///
  /// - Parameter body: what to do with the value. A use of the same object inside it is lent another value.
  /// - Returns: what `body` returned.
  /// - Throws: what `body` threw.
  public func withValue<Result: ~Copyable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if let context = OperationContext.ifPresent, context.pool === core,
      let index = context.workerIndex
    {
      let own = place(index)
      // Not free only inside another use on this thread, or while the values are being read.
      if own.lock.tryLock() {
        defer { own.lock.unlock() }
        return try own.use(makeValue, body)
      }
    }
    let place = borrow()
    place.lock.lock()
    defer {
      place.lock.unlock()
      lists.withLock { $0.free.append(place) }
    }
    return try place.use(makeValue, body)
  }

  /// The values that have been made, those of the threads first, by their numbers. Each is read when its thread
  /// is not inside ``withValue(_:)``; those that are changed meanwhile may be old or new.
  ///
  /// What was done to a value happens before it is read.
  ///
  /// - Precondition: The calling thread is not inside ``withValue(_:)``. If it is, the program stops.
  public var values: [Value] { places.compactMap { place in place.reading { $0 } } }

  /// Takes the values out; who asks for one later begins anew.
  ///
  /// - Returns: the values, in the order of ``values``.
  /// - Precondition: The calling thread is not inside ``withValue(_:)``. If it is, the program stops.
  public func takeValues() -> [Value] { places.compactMap { place in place.reading { $0.take() } } }

  // MARK: -

  private var places: [WorkerPlace<Value>] {
    lists.withLock { lists in (lists.tables.last?.places ?? []) + lists.lent }
  }

  private func place(_ index: Int) -> WorkerPlace<Value> {
    let places = unsafe table.load(ordering: .acquiring)._withUnsafeGuaranteedRef { $0.places }
    return index < places.count ? places[index] : makePlace(index)
  }

  private func makePlace(_ index: Int) -> WorkerPlace<Value> {
    lists.withLock { lists in
      let places = lists.tables.last?.places ?? []
      if index < places.count { return places[index] }
      // Twice as many each time, so that the tables that are kept are no more than the last one.
      let count = max(8, index + 1, places.count * 2)
      let larger = Table(places + (places.count..<count).map { _ in WorkerPlace() })
      lists.tables.append(larger)
      unsafe table.store(.passUnretained(larger), ordering: .releasing)
      return larger.places[index]
    }
  }

  private func borrow() -> WorkerPlace<Value> {
    lists.withLock { lists in
      if let place = lists.free.popLast() { return place }
      let place = WorkerPlace<Value>()
      lists.lent.append(place)
      return place
    }
  }
}

/// Where a value is kept.
private final class WorkerPlace<Value: Sendable>: @unchecked Sendable {
  // SAFETY of @unchecked: `value` is guarded by `lock`.
  let lock = FastMutex()
  private var value: Value?
  /// Keeps the next place off this one's cache lines.
  private let padding: InlineArray<15, Int> = .init(repeating: 0)

  /// With the lock held.
  func use<Result: ~Copyable, Failure: Error>(
    _ makeValue: () -> Value, _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if value == nil { value = makeValue() }
    // In place. It was made above, and nobody takes it out meanwhile.
    return try body(&value!)
  }

  func reading(_ body: (inout Value?) -> Value?) -> Value? {
    if lock.isHeldByCurrentThread {
      fatalError("WorkerLocal.values: called inside withValue, whose value is being changed")
    }
    return lock.withLock { body(&value) }
  }
}
