internal import ThreadingThreads

/// What this layer keeps of a thread: what it runs at the moment, and what it is to release.
///
/// Only touched by its own thread.
@safe
final class OperationContext {
  /// The innermost operation that the thread is in. Alive for as long as it stands here.
  private var operation: Unmanaged<ThreadOperation>?
  /// The pool whose worker the thread is, and the lane that it drains.
  var pool: PoolCore?
  var lane: DrainLane?
  /// The thread's seat while it drains the closures of its pool.
  var seat: DrainSeat?
  /// The worker's number in its pool.
  var workerIndex: Int?
  /// Whether the thread is inside a parallel loop that threads of a pool help with.
  var isInLoop = false
  /// Whether the thread is inside `ThreadPool.blocking`, which counts once.
  var isBlocking = false

  private var doomed: [Unmanaged<ThreadOperation>]
  private var isReleasing = false

  private init() {
    unsafe operation = nil
    unsafe doomed = []
  }

  /// The calling thread's, made when it is first asked for.
  static var current: OperationContext {
    let thread = ThreadHandle.current
    if let present = thread.operations { return unsafe unsafeDowncast(present, to: Self.self) }
    let made = OperationContext()
    thread.operations = made
    return made
  }

  /// The calling thread's; nil if it never had to do with operations.
  static var ifPresent: OperationContext? {
    guard let present = ThreadHandle.current.operations else { return nil }
    return unsafe unsafeDowncast(present, to: Self.self)
  }

  /// The queue of the innermost operation; nil for one that was started by hand.
  var currentQueue: QueueCore? { currentOperation?.core }

  var currentOperation: ThreadOperation? { unsafe operation?.takeUnretainedValue() }

  /// Runs `body` with `entered` as the current operation.
  @inline(__always)
  func entering<Result>(_ entered: ThreadOperation, _ body: () -> Result) -> Result {
    let outer = unsafe operation
    unsafe operation = .passUnretained(entered)
    defer { unsafe operation = unsafe outer }
    return body()
  }

  /// Releases an operation when ``releaseNow()`` comes to it.
  func releaseLater(_ operation: Unmanaged<ThreadOperation>) {
    unsafe doomed.append(operation)
  }

  /// Releases what was kept, one after another. What goes away meanwhile adds to the list and returns,
  /// so the stack does not grow.
  func releaseNow() {
    guard !isReleasing else { return }
    isReleasing = true
    while let operation = unsafe doomed.popLast() { unsafe operation.release() }
    isReleasing = false
    unsafe doomed = []
  }
}
