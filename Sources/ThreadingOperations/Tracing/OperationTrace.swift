internal import Synchronization
internal import ThreadingLocks
public import ThreadingPlatform
internal import ThreadingThreads

/// A record of who ran what, when, and after how long a wait, for the queues that write into it.
///
/// ```swift
/// let trace = OperationTrace()
/// queue.trace = trace
/// // work
/// print(trace.chromeTrace())  // for a viewer of Chrome traces, such as Perfetto
/// print(trace.dependencyGraph())  // for Graphviz: dot -Tsvg
/// ```
///
/// Several queues may share one trace. A queue that has none pays one comparison for each operation.
///
/// - Note: All methods may be called from any thread.
public final class OperationTrace: Sendable {
  /// What was recorded of one operation.
  public struct Record: Sendable, Hashable {
    /// Its number in the trace, from 1, in the order in which operations were first seen.
    public let number: Int
    /// Its name, or its type where it has none.
    public let name: String
    /// The name of its queue.
    public let queue: String
    /// The thread that called `main()`, by the system's number.
    public let thread: UInt32
    /// What that thread is called.
    public let threadName: String
    /// When it was added to its queue.
    public let added: MonotonicInstant
    /// When its turn came.
    public let started: MonotonicInstant
    /// When `main()` had returned.
    public let returned: MonotonicInstant
    /// When it had finished: later than `returned` if it is asynchronous.
    public let ended: MonotonicInstant
    /// The numbers of those that it depended on when it started, as far as they are in the trace.
    public let dependencies: [Int]
    /// Whether its work went on after `main()` had returned.
    public let wentOn: Bool
    /// Whether it was cancelled before it started.
    public let wasSkipped: Bool
    /// Whether it has ended with an error.
    public let hasFailed: Bool

    /// How long it waited: for its dependencies, barriers, and a thread.
    public var waited: Duration { added.duration(to: started) }
  }

  private struct State {
    var records: [Record] = []
    var open: [ObjectIdentifier: OpenRecord] = [:]
    var dropped = 0
    var last = 0
  }

  /// What is known of an operation before its end.
  struct OpenRecord {
    let number: Int
    let added: MonotonicInstant
    var started: MonotonicInstant
    var returned: MonotonicInstant
    var thread: UInt32 = 0
    var threadName = ""
    var dependencies: [Int] = []
    var wasSkipped = false
  }

  /// A leaf: no other lock is taken with it held, and no code of the user runs.
  private let state = Locked(State())

  /// How many finished operations are kept; those that finish later are counted in ``droppedCount``.
  public let capacity: Int

  /// An empty trace.
  ///
  /// - Parameter capacity: how many operations are recorded, from 1; some 200 bytes each.
  /// - Precondition: `capacity` is at least 1. If not, the program stops.
  public init(capacity: Int = 100_000) {
    require(capacity >= 1, "OperationTrace: a capacity of \(capacity); at least 1 is needed")
    self.capacity = capacity
  }

  /// The operations that have finished, in the order of their ends.
  public var records: [Record] { state.withLock { $0.records } }

  /// How many operations have finished for which there was no room.
  public var droppedCount: Int { state.withLock { $0.dropped } }

  /// Forgets the operations that have finished.
  public func clear() {
    state.withLock { state in
      state.records = []
      state.dropped = 0
    }
  }

  // MARK: What the queues tell

  /// Before a queue takes the operation in, with no lock held.
  func noteAdding(_ operation: ThreadOperation) {
    let now = MonotonicInstant.now
    let number = state.withLock { state in
      state.last += 1
      state.open[ObjectIdentifier(operation)] = OpenRecord(
        number: state.last, added: now, started: now, returned: now)
      return state.last
    }
    operation.setTraceNumber(number, self)
  }

  /// A queue has refused it after all.
  func noteRefused(_ operation: ThreadOperation) {
    state.withLock { _ = $0.open.removeValue(forKey: ObjectIdentifier(operation)) }
  }

  /// Before `main()`, on its thread.
  func noteStart(_ operation: ThreadOperation, isSkipped: Bool) {
    let dependencies = operation.dependencies.compactMap { $0.traceNumber(in: self) }
    let thread = SystemThread.currentID
    let threadName = ThreadHandle.current.name ?? "thread \(thread)"
    let now = MonotonicInstant.now
    change(operation) { record in
      record.dependencies = dependencies
      record.thread = thread
      record.threadName = threadName
      record.wasSkipped = isSkipped
      record.started = now
      record.returned = now
    }
  }

  /// After `main()`. An asynchronous operation may have finished already.
  func noteReturn(_ identity: ObjectIdentifier) {
    let now = MonotonicInstant.now
    state.withLock { state in state.open[identity]?.returned = now }
  }

  /// At the end, before dependants start.
  func noteEnd(_ operation: ThreadOperation, queue: String) {
    let name = operation.label
    let word = operation.load()
    let now = MonotonicInstant.now
    state.withLock { state in
      guard let open = state.open.removeValue(forKey: ObjectIdentifier(operation)) else { return }
      guard state.records.count < capacity else {
        state.dropped += 1
        return
      }
      state.records.append(
        Record(
          number: open.number, name: name, queue: queue, thread: open.thread,
          threadName: open.threadName, added: open.added, started: open.started,
          returned: open.returned > open.started ? open.returned : now, ended: now,
          dependencies: open.dependencies,
          wentOn: word.has(OperationWord.isOnItsOwn), wasSkipped: open.wasSkipped,
          hasFailed: word.has(OperationWord.hasFailed)))
    }
  }

  private func change(_ operation: ThreadOperation, _ body: (inout OpenRecord) -> Void) {
    state.withLock { state in
      guard var record = state.open[ObjectIdentifier(operation)] else { return }
      body(&record)
      state.open[ObjectIdentifier(operation)] = record
    }
  }
}

extension ThreadOperation {
  final func setTraceNumber(_ number: Int, _ trace: OperationTrace) {
    lock.withLock { makeExtras().traceNumber = (ObjectIdentifier(trace), number) }
  }

  final func traceNumber(in trace: OperationTrace) -> Int? {
    lock.withLock {
      guard let (owner, number) = extras?.traceNumber, owner == ObjectIdentifier(trace) else {
        return nil
      }
      return number
    }
  }
}
