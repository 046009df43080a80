/// Groups the writes of an import into batches, each one transaction and one line of the log.
///
/// Under `--strict` the whole import is one transaction, so that all of it can be undone; the batches
/// are kept in the log all the same.
final class BatchTransaction {
  private let database: Database
  private let isStrict: Bool
  private let log: Statement
  private let version: Statement

  /// What the database's version was at the beginning. Others' writing changes it, ours does not.
  private let firstVersion: Int64

  private var nextNumber: Int64
  private var isOpen = false

  /// The batch being filled; nil between batches.
  private(set) var batch: Batch?

  /// What the batch holds so far, or what the last one held. Unchanged rows are counted too.
  private(set) var counts = TableCounts(table: "")

  /// The lines of the file that the first and the last record of the batch start on.
  private var lines = 0...0

  /// The number of the first batch of this import.
  let firstNumber: Int64

  /// Batches for an import into `database`.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  init(_ database: Database, isStrict: Bool) throws(DatabaseError) {
    self.database = database
    self.isStrict = isStrict
    // Looked at before anything is read that another program could change.
    version = try database.prepare("PRAGMA data_version")
    firstVersion = try Self.read(version)
    log = try database.prepare("INSERT INTO import_batches VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
    firstNumber = (try database.integer("SELECT max(batch) FROM import_batches") ?? 0) + 1
    nextNumber = firstNumber
  }

  /// How many records the batch holds.
  var records: Int { counts.inserted + counts.updated + counts.unchanged }

  /// Begins a batch unless one is being filled.
  ///
  /// - Returns: the batch's number.
  /// - Throws: `DatabaseError` if SQLite refuses, as when another program is writing.
  func begin(_ table: FeedTable) throws(DatabaseError) -> Int64 {
    if let batch { return batch.number }
    if !isOpen {
      try database.execute("BEGIN IMMEDIATE")
      isOpen = true
      guard try Self.read(version) == firstVersion else {
        throw DatabaseError(
          code: SQLiteCode.busy, action: "import into \(database.path)",
          reason: "another program has written to it meanwhile; run the import again")
      }
    }
    batch = Batch(number: nextNumber, table: table.name)
    counts = TableCounts(table: table.name)
    return nextNumber
  }

  /// Notes what became of a record of the batch, which starts on the given line.
  func add(_ change: TableWriter.Change, line: Int) {
    lines = records == 0 ? line...line : lines.lowerBound...line
    switch change {
    case .inserted(let id):
      batch?.inserted.append(id)
      counts.inserted += 1
    case .updated(let id):
      batch?.updated.append(id)
      counts.updated += 1
    case .unchanged:
      counts.unchanged += 1
    case .duplicate:
      break
    }
  }

  /// Ends the batch. A batch that changed nothing leaves nothing in the database.
  ///
  /// - Returns: the batch, if its rows can now be read by other connections.
  /// - Throws: `DatabaseError` if SQLite refuses.
  func end(file: String) throws(DatabaseError) -> Batch? {
    guard let batch else {
      counts = TableCounts(table: "")
      return nil
    }
    if counts.inserted + counts.updated > 0 {
      try log.bind(batch.number, at: 1)
      try log.bind(file, at: 2)
      try log.bind(Int64(lines.lowerBound), at: 3)
      try log.bind(Int64(lines.upperBound), at: 4)
      try log.bind(Int64(records), at: 5)
      try log.bind(Int64(counts.inserted), at: 6)
      try log.bind(Int64(counts.updated), at: 7)
      try log.run()
      nextNumber += 1
    }
    self.batch = nil
    if isStrict { return nil }
    try commit()
    return counts.inserted + counts.updated > 0 ? batch : nil
  }

  /// Makes what was written since the transaction began part of the database.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  func commit() throws(DatabaseError) {
    guard isOpen else { return }
    try database.execute("COMMIT")
    isOpen = false
  }

  /// Undoes what was written since the transaction began.
  func rollBack() {
    guard isOpen else { return }
    // A failure here means that SQLite has rolled back already, as it does when the disk is full.
    try? database.execute("ROLLBACK")
    isOpen = false
    batch = nil
  }

  private static func read(_ version: Statement) throws(DatabaseError) -> Int64 {
    defer { version.reset() }
    return try version.step() ? version.integer(0) : 0
  }

  /// Calls `body` for everything that batches wrote from `number` on, by reading back which rows bear
  /// their numbers.
  ///
  /// - Parameters:
  ///   - number: the first batch.
  ///   - firstNewIDs: for each table, the id from which on its rows are new.
  ///   - database: where they are.
  ///   - body: called for at most as many rows at a time as a batch holds.
  /// - Throws: `DatabaseError` if SQLite refuses.
  static func committed(
    since number: Int64, firstNewIDs: [String: Int64], in database: Database,
    _ body: (Batch) -> Void
  ) throws(DatabaseError) {
    for table in FeedTable.all {
      let find = try database.prepare(
        """
        SELECT id FROM \(table.name) WHERE id > ?1 AND batch >= ?2 ORDER BY id \
        LIMIT \(ImportPlan.batchSize)
        """)
      var lastID: Int64 = 0
      while true {
        var batch = Batch(number: number, table: table.name)
        try find.bind(lastID, at: 1)
        try find.bind(number, at: 2)
        let firstNewID = firstNewIDs[table.name] ?? 0
        while try find.step() {
          lastID = find.integer(0)
          if lastID < firstNewID {
            batch.updated.append(lastID)
          } else {
            batch.inserted.append(lastID)
          }
        }
        if batch.inserted.isEmpty && batch.updated.isEmpty { break }
        body(batch)
      }
    }
  }
}
