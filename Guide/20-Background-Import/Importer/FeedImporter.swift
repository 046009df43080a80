/// Imports a feed: reads its files, writes the database, and tells what happens.
///
/// It knows nothing of threads, which is why it can be read, and tested, on its own. Whoever runs it
/// says with `isCancelled` when to stop, and receives the events on the thread that runs it.
final class FeedImporter {
  /// How many problems are told one by one. All are counted.
  static let toldProblems = 20

  /// How many notes are told one by one. The rest is counted.
  static let toldNotes = 20

  private let plan: ImportPlan
  private let library: SQLiteLibrary
  private let isCancelled: () -> Bool
  private let report: (ImportEvent) -> Void

  private var summary = ImportSummary()
  private var progress = PercentCounter(total: 0)
  private var readBytes = 0
  private var firstNewIDs: [String: Int64] = [:]
  private var problems = 0
  private var notes = 0

  /// An importer for `plan`.
  ///
  /// - Parameters:
  ///   - plan: what to import, and where to.
  ///   - library: SQLite.
  ///   - isCancelled: asked at each record, and at each piece of a file that is read.
  ///   - report: may block, which holds the import up.
  init(
    plan: ImportPlan, library: SQLiteLibrary, isCancelled: @escaping () -> Bool,
    report: @escaping (ImportEvent) -> Void
  ) {
    self.plan = plan
    self.library = library
    self.isCancelled = isCancelled
    self.report = report
  }

  /// Imports the feed. Call it once.
  ///
  /// When it returns, its connection is closed and nothing is half done: the last batch is in the
  /// database as a whole or not at all, and under `--strict` so is the import.
  func run() -> ImportSummary {
    do {
      let folder = try FeedFolder(path: plan.feed)
      progress = PercentCounter(total: folder.size)
      for file in folder.unknownFiles {
        note("\(Printable(file)) is not imported: there is no table for it")
      }
      let database = try FeedDatabase.openForWriting(path: plan.database, library: library)
      try importFiles(of: folder, into: database)
    } catch {
      summary.failure = ImportFailure(error)
    }
    if notes > Self.toldNotes {
      let rest = Figures.grouped(notes - Self.toldNotes)
      report(.note("\(rest) more files and columns have no place in the database"))
    }
    return summary
  }

  private func importFiles(of folder: FeedFolder, into database: Database) throws {
    let transaction = try BatchTransaction(database, isStrict: plan.isStrict)
    do {
      for (table, size) in folder.files {
        try importFile(of: table, in: folder, into: database, transaction)
        readBytes += size
      }
      try transaction.commit()
    } catch {
      transaction.rollBack()
      noteRollback()
      try? emptyLog(of: database)
      throw error
    }
    if plan.isStrict {
      // Only now can other connections see the rows.
      try BatchTransaction.committed(
        since: transaction.firstNumber, firstNewIDs: firstNewIDs, in: database
      ) { report(.batch($0)) }
    }
    try emptyLog(of: database)
  }

  /// Copies the write-ahead log into the database's file: here, on this thread, so that the main
  /// thread has no disk to wait for when it closes the last connection.
  private func emptyLog(of database: Database) throws {
    try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  private func noteRollback() {
    for index in summary.tables.indices {
      if plan.isStrict { summary.tables[index].forgetWrites() }
      summary.tables[index].countRestAsRolledBack()
    }
  }
}

// MARK: - One file

extension FeedImporter {
  private func importFile(
    of table: FeedTable, in folder: FeedFolder, into database: Database,
    _ transaction: BatchTransaction
  ) throws {
    report(.started(file: table.fileName))
    var reader = CSVReader(
      InterruptibleSource(try folder.open(table), isInterrupted: isCancelled))
    summary.tables.append(TableCounts(table: table.name))
    let layout = try readHeader(&reader, table)
    let writer = try TableWriter(database, table)
    firstNewIDs[table.name] = writer.firstNewID
    var row = FeedRow()
    while true {
      let outcome = try next(of: &reader)
      if outcome == .end { break }
      counts.read += 1
      if case .malformed(let problem) = outcome {
        try skip(problem, in: table)
      } else if let layout {
        try importRecord(reader, layout, &row, with: writer, transaction)
      } else {
        counts.skipped += 1
      }
      advance(to: readBytes + reader.offset)
    }
    try end(transaction)
    advance(to: readBytes + reader.offset)
    counts.blankLines = reader.blankLines
  }

  /// Reads on to the next record.
  ///
  /// Whether to stop is asked after it: a reader whose source was interrupted has come to an end, or
  /// to a record, that is none.
  private func next(of reader: inout CSVReader) throws -> CSVReader.Outcome {
    let outcome = try reader.next()
    if isCancelled() { throw ImportFailure.cancelled }
    return outcome
  }

  /// Writes the record that `reader` has at hand, if it is a good one.
  private func importRecord(
    _ reader: borrowing CSVReader, _ layout: FeedLayout, _ row: inout FeedRow,
    with writer: TableWriter, _ transaction: BatchTransaction
  ) throws {
    let table = layout.table
    if let problem = layout.read(reader, into: &row) { return try skip(problem, in: table) }
    let change = try writer.write(row, batch: transaction.begin(table))
    if change == .duplicate { return try skip(layout.duplicateKey(reader, row), in: table) }
    transaction.add(change, line: reader.line)
    if transaction.records == ImportPlan.batchSize { try end(transaction) }
  }

  /// Reads the header line.
  ///
  /// - Returns: nil if the file's rows cannot be read by it. They are counted all the same.
  private func readHeader(_ reader: inout CSVReader, _ table: FeedTable) throws -> FeedLayout? {
    do {
      switch try next(of: &reader) {
      case .record:
        let layout = try FeedLayout(header: reader, table: table)
        for column in layout.unknownColumns {
          note("\(table.fileName): column \(Printable(column)) has no place in the table")
        }
        if layout.unnamedColumns > 0 {
          let count = layout.unnamedColumns
          note("\(table.fileName): columns without a name (\(count)) are not imported")
        }
        return layout
      case .malformed(let problem):
        throw BadHeader(.unusableHeader, problem.position, problem.reason)
      case .end:
        let start = TextPosition(line: 1, column: 1)
        throw BadHeader(
          .unusableHeader, start, "the file is empty, not even a header line is there")
      }
    } catch let error as BadHeader {
      try note(error.problem, in: table)
      if table.isRequired { summary.lacksRequiredTable = true }
      return nil
    }
  }

  private var counts: TableCounts {
    get { summary.tables[summary.tables.count - 1] }
    _modify { yield &summary.tables[summary.tables.count - 1] }
  }

  private func end(_ transaction: BatchTransaction) throws {
    let file = counts.table + ".txt"
    let visible = try transaction.end(file: file)
    counts.inserted += transaction.counts.inserted
    counts.updated += transaction.counts.updated
    counts.unchanged += transaction.counts.unchanged
    if let visible { report(.batch(visible)) }
  }

  private func skip(_ problem: Problem, in table: FeedTable) throws {
    counts.skipped += 1
    try note(problem, in: table)
  }

  private func note(_ problem: Problem, in table: FeedTable) throws {
    let problem = FileProblem(file: table.fileName, problem: problem)
    counts.problems[problem.problem.kind, default: 0] += 1
    problems += 1
    if plan.isStrict { throw ImportFailure.refused(problem) }
    if problems <= Self.toldProblems { report(.problem(problem)) }
  }

  private func note(_ text: String) {
    notes += 1
    if notes <= Self.toldNotes { report(.note(text)) }
  }

  private func advance(to bytes: Int) {
    if let percent = progress.advance(to: bytes) { report(.progress(percent: percent)) }
  }
}
