internal import ThreadingLocks

/// An operation that runs a closure, or several.
///
/// ```swift
/// let hello = ClosureOperation { print("hello") }
/// try hello.start()
/// ```
///
/// Closures, and what they have captured, are released when they have run or the operation has been
/// cancelled and finished.
public final class ClosureOperation: ThreadOperation, @unchecked Sendable {
  // SAFETY of @unchecked: `body` is written by the initialiser and then only touched by whoever has
  // entered the phase that allows it: the runner of `main()`, or the one who finishes a skipped one.
  // Further closures are in the extras, guarded by `lock`: few operations have them, and the C library
  // allocates what is not larger than this at half the cost.
  private var body: (@Sendable () throws -> Void)?

  /// An operation that will run `body`.
  ///
  /// - Parameter body: the work.
  public init(_ body: @escaping @Sendable () throws -> Void) {
    self.body = body
    super.init()
  }

  /// An operation with a name that will run `body`.
  ///
  /// - Parameters:
  ///   - name: for messages and listings.
  ///   - priority: which of the operations that are ready goes first.
  ///   - body: the work.
  public init(
    name: String, priority: Priority = .normal, _ body: @escaping @Sendable () throws -> Void
  ) {
    self.body = body
    super.init(name: name, priority: priority)
  }

  /// Has the operation run one closure more. It finishes once, when all have run.
  ///
  /// The closures may run at once: on the operation's own thread and on other threads of the pool, if it has
  /// some to spare, and one after another if not, or on a run loop. They count as one operation against
  /// their queue's width. In each, ``ThreadOperation/current`` is the operation. All of them run, also when
  /// one has thrown: the first error is the operation's. After a cancellation those that have not begun are
  /// left out.
  ///
  /// - Parameter block: the work.
  /// - Throws: ``ThreadOperationError/Reason/hasStarted`` if the operation has started or finished.
  public func addBlock(
    _ block: @escaping @Sendable () throws -> Void
  ) throws(ThreadOperationError) {
    lock.lock()
    let before = update { word in
      guard !word.hasStarted else { return false }
      word.bits |= OperationWord.hasBlocks
      return true
    }
    // Whoever runs it takes the lock after it has seen the flag.
    if before != nil {
      let extras = makeExtras()
      extras.blocks.append(block)
      extras.blockCount += 1
    }
    lock.unlock()
    guard before != nil else {
      throw ThreadOperationError(
        .hasStarted, self, "\(self) cannot take another closure: it has started")
    }
  }

  /// How many closures it was given.
  public var blockCount: Int { 1 + lock.withLock { extras?.blockCount ?? 0 } }

  /// Runs the closures.
  ///
  /// - Throws: what a closure throws.
  public override func main() throws {
    if load().has(OperationWord.hasBlocks) { return try runAll() }
    try body.take()?()
  }

  private func runAll() throws {
    var blocks = lock.withLock { extras?.blocks ?? [] }
    if let body { blocks.insert(body, at: 0) }
    let firstError = Locked<(any Error)?>(nil)
    let run: (Range<Int>) -> Bool = { [self, blocks] range in
      for index in range where !isCancelled {
        OperationContext.current.entering(self) {
          do {
            try blocks[index]()
          } catch {
            firstError.withLock { if $0 == nil { $0 = error } }
          }
        }
      }
      return true
    }
    if let pool = core == nil ? ThreadPool.shared.core : core?.executor as? PoolCore {
      ParallelJob(
        count: blocks.count, piece: 1, workers: min(blocks.count, pool.drainLimit), body: run
      ).run(on: pool)
    } else {
      _ = run(0..<blocks.count)
    }
    if let error = firstError.withLock({ $0 }) { throw error }
  }

  override func didEnd() {
    if body != nil { body = nil }
    if load().has(OperationWord.hasBlocks) {
      // Released without the lock.
      let blocks = lock.withLock { extras?.blocks ?? [] }
      lock.withLock { extras?.blocks = [] }
      withExtendedLifetime(blocks) {}
    }
  }
}
