internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform
internal import ThreadingThreads

/// A piece of work that runs once: by hand, on the thread that calls ``start()``, or by a
/// ``ThreadOperationQueue`` on one of its threads, with the same result.
///
/// Override ``main()`` and do the work there:
///
/// ```swift
/// final class Count: ThreadOperation, @unchecked Sendable {
///   private let range: ClosedRange<Int>
///   private(set) var total = 0
///
///   init(_ range: ClosedRange<Int>) {
///     self.range = range
///   }
///
///   override func main() {
///     for number in range {
///       if isCancelled { return }
///       total += number
///     }
///   }
/// }
///
/// let count = Count(1...100)
/// try queue.add(count)
/// count.wait()
/// print(count.total)
/// ```
///
/// Where the work goes on after `main()` has returned, override ``isAsynchronous`` to say so, begin
/// the work in `main()` and call ``finish()`` when it is over.
///
/// Everything that was written before the operation was added or started happens before `main()`.
/// What `main()` wrote happens before the start of its dependants and before ``wait()`` returns.
///
/// The end of an operation comes in this order: its state becomes ``State/finished``; its completion
/// blocks run, in the order in which they were added; dependants may start, and threads that wait go
/// on. A finished operation has let go of its dependencies and of its completion blocks.
///
/// - Note: All methods may be called from any thread.
@safe
open class ThreadOperation: @unchecked Sendable {
  // SAFETY of @unchecked: each stored property names what guards it. Subclasses state their own:
  // what `main()` writes may be read by whoever has seen the end.

  /// State, flags and priority. Its bits are explained in `OperationWord`.
  let word: Atomic<UInt32>

  /// Unfinished dependencies, plus 1 for as long as no queue has taken the operation in. The step to
  /// 0 makes it ready, whoever takes it. The top bit is set once it has had a dependency.
  let holds = Atomic<UInt32>(1)
  static let hadDependencies: UInt32 = 1 << 31

  /// Guards `dependencyList`, `dependants` and `extras`. Two operations' locks are taken in the order
  /// of their addresses; a queue's lock may be taken with it held, never the other way round.
  let lock = FastMutex()

  /// Kernel id of the thread that runs `main()` or the completion blocks.
  let runner = Atomic<UInt32>(0)

  /// Which of the queue's stretches between barriers it belongs to. Guarded by the queue's lock.
  final var epoch: UInt32 = 0
  /// In which list of ready operations it is. Guarded by the queue's lock.
  final var readyLevel: UInt8 = 0
  /// Whether the edge that is inside the operation is in a ring of dependants. Guarded by the lock of the
  /// dependency that the edge leads to.
  final var isFirstEdgeLinked = false
  /// Guarded by the queue's lock.
  final var memberLinks = OperationLinks()
  /// Guarded by the queue's lock or, while the edge that is inside the operation is linked, by the lock of the
  /// dependency that the edge leads to; see `EdgeReference`.
  final var readyLinks = OperationLinks()

  /// The queue. Written once in the phase `adding`, read after a later phase has been seen.
  final var core: QueueCore?

  /// What it depends on. Guarded by `lock`.
  final var dependencyList = DependencyList()
  /// The edges from what depends on it. Guarded by `lock`.
  final var dependants = DependantRing()
  /// What few operations have. Guarded by `lock`.
  final var extras: OperationExtras?

  /// An operation of normal priority without a name.
  public init() {
    word = Atomic(OperationWord(priority: .normal).bits)
  }

  /// An operation with a name, for messages and listings.
  public init(name: String, priority: Priority = .normal) {
    word = Atomic(OperationWord(priority: priority).bits)
    extras = OperationExtras(name: name)
  }

  init(optionalName name: String?, priority: Priority) {
    word = Atomic(OperationWord(priority: priority).bits)
    if let name { extras = OperationExtras(name: name) }
  }

  deinit {
    if !dependencyList.isEmpty { letGoOfDependenciesAtEnd() }
  }

  // MARK: What subclasses override

  /// Does the work. To be overridden; called once, by whoever runs the operation, unless it was
  /// cancelled before. There is no need to call `super`.
  ///
  /// A long `main()` should look at ``isCancelled`` from time to time and return early.
  ///
  /// - Throws: any error; the operation is then finished with the outcome ``Outcome/failed(_:)``.
  open func main() throws {}

  /// Whether the work goes on after ``main()`` has returned, until ``finish()`` is called. False unless
  /// overridden. Asked once, when `main()` has returned.
  open var isAsynchronous: Bool { false }

  /// Called once when the work is over, before anybody is told, on the thread that finishes it: the
  /// toolkit's own operations let go of their closures here.
  func didEnd() {}

  /// Called instead of ``main()`` for one that was cancelled before its start, before it finishes.
  func willBeSkipped() {}

  // MARK: State

  /// How far it has come.
  public final var state: State { load().publicState }

  /// Whether all its dependencies have finished and it has not started.
  public final var isReady: Bool {
    let now = load()
    switch now.phase {
    // acquiring: pairs with the release of the dependency that finished last.
    case .pending, .adding: return Self.count(holds.load(ordering: .acquiring)) == 1
    case .waiting: return Self.count(holds.load(ordering: .acquiring)) == 0
    case .ready: return true
    case .executing, .finishing, .finished: return false
    }
  }

  /// Whether its work is under way.
  public final var isExecuting: Bool { load().phase == .executing }

  /// Whether it is executing but no thread is in its ``main()`` any more: it waits for somebody to call
  /// ``finish()``. If that is forgotten, it keeps its slot in its queue for ever; this, in the description too,
  /// tells which ones of ``ThreadOperationQueue/operations`` do.
  public final var isExecutingWithoutThread: Bool {
    let now = load()
    return now.phase == .executing && now.has(OperationWord.isOnItsOwn)
  }

  final var hasNotStarted: Bool { !load().hasStarted }

  /// Whether its work is over. Everything that the work wrote happens before this is seen.
  public final var isFinished: Bool { load().isOver }

  /// Whether ``cancel()`` was called before it finished.
  public final var isCancelled: Bool { load().has(OperationWord.cancelled) }

  /// How it ended; nil until it has finished.
  public final var outcome: Outcome? {
    let now = load()
    guard now.isOver else { return nil }
    if now.has(OperationWord.wasSkipped) { return .cancelled }
    guard now.has(OperationWord.hasFailed), let error = lock.withLock({ extras?.error }) else {
      return .completed
    }
    return .failed(error)
  }

  /// The error that it ended with; nil if it has not finished, or not with an error.
  public final var error: (any Error)? {
    if case .failed(let error) = outcome { return error }
    return nil
  }

  /// Its name, for messages and listings; nil for an operation without one.
  public final var name: String? {
    get { lock.withLock { extras?.name } }
    set { lock.withLock { makeExtras().name = newValue } }
  }

  /// Which of the operations that are ready in its queue goes first. May be changed at any time; what
  /// has started is not affected.
  public final var priority: Priority {
    get { load().priority }
    set {
      let before = change { word in word.priority = newValue }
      switch before.phase {
      // A queue that is taking it in reads the priority later than this.
      case .pending, .adding: break
      case .waiting, .ready: core?.relist(self)
      case .executing, .finishing, .finished: break
      }
    }
  }

  /// The operation whose `main()` or completion block the calling thread is in; nil outside.
  public static var current: ThreadOperation? { OperationContext.ifPresent?.currentOperation }
}

// MARK: - The word

extension ThreadOperation {
  /// How many holds there are, by the word that tells.
  @inline(__always)
  static func count(_ holds: UInt32) -> UInt32 { holds & ~hadDependencies }

  /// Gives holds back.
  ///
  /// - Returns: whether they were the last.
  @inline(__always)
  final func giveBack(_ count: UInt32) -> Bool {
    // acquiring and releasing: the last one to let go has seen what all others did.
    Self.count(holds.subtract(count, ordering: .acquiringAndReleasing).newValue) == 0
  }

  final func load() -> OperationWord {
    // acquiring: pairs with the release of every change, so what happened before a phase was entered
    // is seen by whoever sees the phase.
    OperationWord(bits: word.load(ordering: .acquiring))
  }

  /// Changes the word by `body`, which may be called several times.
  ///
  /// - Returns: what it was before.
  @discardableResult
  @inline(__always)
  final func change(_ body: (inout OperationWord) -> Void) -> OperationWord {
    var seen = word.load(ordering: .acquiring)
    while true {
      var wanted = OperationWord(bits: seen)
      body(&wanted)
      // acquiring and releasing: pairs with all other changes and loads of the word.
      let (exchanged, original) = word.compareExchange(
        expected: seen, desired: wanted.bits, ordering: .acquiringAndReleasing)
      if exchanged { return OperationWord(bits: seen) }
      seen = original
    }
  }

  /// Changes the word by `body`, which may be called several times and refuses by returning false.
  ///
  /// - Returns: what it was before, or nil if it was refused.
  @inline(__always)
  final func update(_ body: (inout OperationWord) -> Bool) -> OperationWord? {
    var seen = word.load(ordering: .acquiring)
    while true {
      var wanted = OperationWord(bits: seen)
      guard body(&wanted) else { return nil }
      // acquiring and releasing: pairs with all other changes and loads of the word.
      let (exchanged, original) = word.compareExchange(
        expected: seen, desired: wanted.bits, ordering: .acquiringAndReleasing)
      if exchanged { return OperationWord(bits: seen) }
      seen = original
    }
  }

  /// With `lock` held.
  final func makeExtras() -> OperationExtras {
    if let extras { return extras }
    let made = OperationExtras(name: nil)
    extras = made
    return made
  }
}

extension OperationWord {
  var publicState: ThreadOperation.State {
    switch phase {
    case .pending, .adding, .waiting: .pending
    case .ready: .ready
    case .executing: .executing
    case .finishing, .finished: .finished
    }
  }
}

/// What few operations have. Guarded by the operation's lock.
final class OperationExtras {
  var name: String?
  var error: (any Error)?
  var completions: [@Sendable (ThreadOperation) -> Void] = []
  var conditions: [@Sendable (ThreadOperation) throws -> Void] = []
  var cancellationReason: (any Error)?
  var progress: WorkProgress?
  var watchers: [StateWatcher] = []
  var quality: ThreadQuality?
  /// Its number in the trace with that identity.
  var traceNumber: (ObjectIdentifier, Int)?
  var cancellationHandlers: [@Sendable (ThreadOperation) -> Void] = []
  /// The closures of a ``ClosureOperation`` but for the first, until they have run, and how many were added.
  var blocks: [@Sendable () throws -> Void] = []
  var blockCount = 0

  init(name: String?) { self.name = name }
}

extension ThreadOperation: CustomStringConvertible {
  /// The type, the name and the state: `Count "up to 100" (executing)`.
  public final var description: String {
    let name = self.name.map { " \"\($0)\"" } ?? ""
    let place = isExecutingWithoutThread ? " without a thread" : ""
    return "\(type(of: self))\(name) (\(state)\(place)\(isCancelled ? ", cancelled" : ""))"
  }

  /// The name, or the type where there is none.
  final var label: String { name ?? "\(type(of: self))" }
}
