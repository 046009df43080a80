internal import ThreadingPlatform

/// A source of work that threads drain: a queue, or the bare closures of a pool.
///
/// A lane asks its executor for drains; the executor has a thread of its own call ``drain(in:)`` for each.
@safe
class DrainLane: @unchecked Sendable {
  // SAFETY of @safe: a lane is in the list with the one before it, or has none before it.
  // SAFETY of @unchecked: the properties here are guarded by the lock of the lane's executor; subclasses
  // have a lock of their own.

  /// Drains that were asked for and not begun. Guarded by the executor's lock.
  final var requested = 0
  /// The next lane in the executor's list. Guarded by the executor's lock.
  final var nextLane: DrainLane?
  /// The one before, which the executor holds. Guarded by the executor's lock.
  final var previousLane: Unmanaged<DrainLane>?

  init() { unsafe previousLane = nil }

  /// Runs work until there is none that may run now. Called by the executor, once for each request.
  func drain(in context: OperationContext) {
    fatalError("DrainLane.drain: not overridden by \(type(of: self))")
  }

  /// A thread that drains the lane is about to block, and counts no longer.
  func drainWillBlock() {}

  /// It goes on.
  func drainDidBlock() {}

  /// What would go away with the lane's last operations; to be held while the lane is in use by its executor.
  func members() -> [ThreadOperation] { [] }

  /// Stops everything that has not begun.
  ///
  /// - Returns: the operations that will not run.
  func abandon() -> [ThreadOperation] { [] }

  /// Waits until the lane has no work left.
  ///
  /// - Returns: whether it has none.
  func waitUntilEmpty(until deadline: MonotonicInstant) -> Bool { true }
}

/// How long a drain has been going on.
struct DrainTurn {
  /// Pieces of work that it has run.
  var ran = 0
  /// When it began; nil where the executor does not go by time.
  let begin: MonotonicInstant?
}

/// What gives lanes their threads.
protocol LaneExecutor: AnyObject, Sendable {
  /// Has `count` drains of the lane begin as soon as there are threads for them.
  func request(_ lane: DrainLane, count: Int)

  /// How many drains of one lane are of use at once.
  var drainLimit: Int { get }

  /// A turn that begins now.
  func beginTurn() -> DrainTurn

  /// Whether a drain is to let others go first.
  func isOver(_ turn: DrainTurn) -> Bool

  /// Whether the calling thread is the only one that serves the lanes, so that it must not wait for them.
  func servesOnlyOnCurrentThread() -> Bool

  /// Whether work is refused from now on, but for what belongs to work that was taken before.
  var isShutDown: Bool { get }

  /// Whether no work is done any more.
  var hasEnded: Bool { get }

  /// For a thread that waits for work of a lane: the moment at which it is to call again, at most
  /// `deadline`. Threads that could not be started are tried again here.
  func tick(before deadline: MonotonicInstant) -> MonotonicInstant

  /// The lane exists, and is to be told of a shutdown.
  func register(_ lane: DrainLane)
  /// The lane goes away.
  func unregister(_ lane: DrainLane)
}
