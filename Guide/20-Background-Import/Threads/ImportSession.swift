import Glibc
import Threading

/// The main thread's side of an import: starts it, shows it, and can be interrupted.
///
/// ```
/// main thread (its run loop)              thread "importer" (of the operation queue)
///
/// add the operation to the queue  ----->  read a record, write it, 250 times
///                                         COMMIT
/// merge: read the rows by id      <-----  perform: "rows 1...250 of stops are there"
/// draw the progress               <-----  perform: "12 percent"
/// Ctrl-C: cancel the operation    ----->  ROLLBACK, close
/// print the report                <-----  the operation has finished
/// ```
///
/// All its properties belong to the thread that made it.
final class ImportSession {
  /// What a session came to.
  struct Result {
    var summary: ImportSummary
    let board: RouteBoard

    /// How long it took from the start of the operation to its end.
    let duration: Duration
    let heartbeat: Heartbeat.Measure
  }

  /// The stack of the importing thread: the calls are shallow, and SQLite wants little.
  static let stackSize = 512 * 1_024
  static let threadName = "importer"

  private let plan: ImportPlan
  private let library: SQLiteLibrary
  private var display: ProgressDisplay
  private var board = RouteBoard()
  private var reader: RowReader?
  private var mergeFailure: DatabaseError?

  /// A session that has not begun.
  init(plan: ImportPlan, library: SQLiteLibrary, console: Console) {
    self.plan = plan
    self.library = library
    display = ProgressDisplay(console)
  }

  /// Imports, running the calling thread's loop until it is over. Call it once.
  ///
  /// SIGINT and SIGTERM cancel the import meanwhile. The second of them ends the process at once,
  /// which the database withstands.
  ///
  /// - Returns: how it went.
  /// - Throws: `ThreadingError` if the system refuses a thread or a descriptor.
  func run() throws -> Result {
    let loop = ThreadRunLoop.current
    let session = LoopBound(self)
    let post = EventPost(to: loop) { event in session.withValue { $0.receive(event) } }
    let operation = ImportOperation(plan: plan, library: library) { post.send($0) }

    // snippet: queue
    let queue = try ThreadOperationQueue(
      name: "import", width: 1,
      attributes: ThreadAttributes(name: Self.threadName, stackSize: Self.stackSize))
    // end
    Self.unblock([SIGINT, SIGTERM])
    let signals = try [SIGINT, SIGTERM].map { signal in
      try SignalSource(signal) { _, _ in
        if operation.isCancelled { _exit(ExitStatus.cancelled.rawValue) }
        operation.cancel()
      }
    }
    defer { for source in signals { source.cancel() } }
    for source in signals { try loop.add(source) }
    let heartbeat = try Heartbeat()
    let isOver = ExitFlag()
    let start = MonotonicInstant.now
    // snippet: end
    operation.addCompletion { _ in isOver.set() }
    try queue.add(operation)
    loop.run(until: isOver)
    // end
    let duration = start.duration(to: .now)

    // The last connection: closing it takes the write-ahead log away.
    reader = nil
    let measure = heartbeat.stop()
    // A terminal that is stopped makes this wait, and nothing is left to be held up by it.
    display.eraseBar()
    var summary = operation.summary
    if let mergeFailure, summary.failure == nil { summary.failure = .view(mergeFailure) }
    return Result(
      summary: summary, board: board, duration: duration, heartbeat: measure)
  }

  /// Lets signals through to this thread. A program inherits from the one that starts it which signals
  /// are held back, and some that start others from a Dispatch queue hold back nearly all.
  private static func unblock(_ signals: [CInt]) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  private func receive(_ event: ImportEvent) {
    switch event {
    case .started(let file): display.start(file: file)
    case .note(let text): display.note(text)
    case .problem(let problem): display.problem(problem)
    case .progress(let percent): display.advance(to: percent, rows: board.mergedRows)
    case .batch(let batch): merge(batch)
    }
  }

  private func merge(_ batch: Batch) {
    do throws(DatabaseError) {
      try board.merge(batch, from: openReader())
    } catch {
      mergeFailure = mergeFailure ?? error
    }
  }

  /// The main thread's own connection, made for the first batch: before, there is nothing to read.
  private func openReader() throws(DatabaseError) -> RowReader {
    if let reader { return reader }
    let opened = try RowReader(path: plan.database, library: library)
    reader = opened
    return opened
  }
}
