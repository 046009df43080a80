/// The database of a feed: its tables, and the log of batches.
///
/// Each table of a feed has the columns of its file and two more: `id`, the number by which threads
/// tell each other of a row, and `batch`, the number of the transaction that wrote the row last. The
/// table `import_batches` says what each batch was to hold. Both are written in the same transaction,
/// so at any moment, and after any crash, the rows with a batch's number are as many as the log says.
///
/// References between tables (a trip's route, say) are not enforced: feeds in the wild have some that
/// lead nowhere, and the rest of such a feed is still of use.
enum FeedDatabase {
  /// Marks the file as ours: "GTFS" in ASCII.
  static let applicationID: Int64 = 0x4754_4653

  /// The form of the tables.
  static let version: Int64 = 1

  /// Opens the database for importing, making it if there is none.
  ///
  /// The write-ahead log lets the main thread read while this connection writes.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses, or the file is a database of another kind.
  static func openForWriting(
    path: String, library: SQLiteLibrary
  ) throws(DatabaseError) -> Database {
    let database = try Database(path: path, library: library, patience: 2_000)
    if database.isReadOnly {
      throw DatabaseError(
        code: SQLiteCode.readOnly, action: "import into \(path)",
        reason: "it may be read but not written")
    }
    let isNew = try isEmpty(database)
    try checkKind(database, isNew: isNew)
    guard try database.text("PRAGMA journal_mode = WAL") == "wal" else {
      throw refusal(path, "the file system does not allow a write-ahead log; choose a local one")
    }
    // The log is synchronised when it is copied into the file, not at each commit: a crash of the
    // process loses nothing, one of the machine the last batches, and neither tears a batch.
    try database.execute("PRAGMA synchronous = NORMAL")
    if isNew { try makeTables(database) }
    return database
  }

  /// Opens the database for reading beside the importing connection.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  static func openForReading(
    path: String, library: SQLiteLibrary
  ) throws(DatabaseError) -> Database {
    let database = try Database(path: path, library: library, patience: 20)
    try database.execute("PRAGMA query_only = 1")
    return database
  }

  private static func isEmpty(_ database: Database) throws(DatabaseError) -> Bool {
    try database.integer("SELECT count(*) FROM sqlite_master") == 0
  }

  private static func checkKind(_ database: Database, isNew: Bool) throws(DatabaseError) {
    if isNew { return }
    guard try database.integer("PRAGMA application_id") == applicationID else {
      throw refusal(database.path, "it is a database of another program; choose another file")
    }
    guard try database.integer("PRAGMA user_version") == version else {
      throw refusal(database.path, "another version of the guide made it; choose another file")
    }
  }

  private static func refusal(_ path: String, _ reason: String) -> DatabaseError {
    DatabaseError(code: SQLiteCode.notADatabase, action: "import into \(path)", reason: reason)
  }

  private static func makeTables(_ database: Database) throws(DatabaseError) {
    try database.execute("BEGIN IMMEDIATE")
    for table in FeedTable.all { try database.execute(definition(of: table)) }
    try database.execute(
      """
      CREATE TABLE IF NOT EXISTS import_batches (
        batch INTEGER PRIMARY KEY, file TEXT NOT NULL, first_line INTEGER NOT NULL,
        last_line INTEGER NOT NULL, records INTEGER NOT NULL, inserted INTEGER NOT NULL,
        updated INTEGER NOT NULL)
      """)
    try database.execute("PRAGMA application_id = \(applicationID)")
    try database.execute("PRAGMA user_version = \(version)")
    try database.execute("COMMIT")
  }

  private static func definition(of table: FeedTable) -> String {
    let columns = table.columns.map { column in
      let isNeeded = column.presence == .valueRequired || table.key.contains(column.name)
      return "\(column.name) \(column.sqlType)\(isNeeded ? " NOT NULL" : "")"
    }
    return """
      CREATE TABLE IF NOT EXISTS \(table.name) (id INTEGER PRIMARY KEY, \
      \(columns.joined(separator: ", ")), batch INTEGER NOT NULL, \
      UNIQUE (\(table.key.joined(separator: ", "))))
      """
  }
}
