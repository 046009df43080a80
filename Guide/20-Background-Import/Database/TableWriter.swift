/// Writes rows into one table, so that the same row written again changes nothing.
final class TableWriter {
  /// What became of a row.
  enum Change: Equatable {
    case inserted(id: Int64)
    case updated(id: Int64)
    case unchanged

    /// The same import has already brought a row with this key. Nothing was written.
    case duplicate
  }

  private let table: FeedTable
  private let database: Database
  private let insert: Statement
  private let find: Statement
  private let update: Statement

  /// Ids from here on are of rows that this import inserted.
  let firstNewID: Int64

  /// Which of the rows that were there before this import has brought.
  private var seen: BitSet

  /// A writer for a table of `database`.
  ///
  /// - Throws: `DatabaseError` if the table is not there.
  init(_ database: Database, _ table: FeedTable) throws(DatabaseError) {
    let names = table.columns.map(\.name)
    let key = table.key.joined(separator: ", ")
    let batchPlace = names.count + 1
    let places = (1...batchPlace).map { "?\($0)" }.joined(separator: ", ")
    insert = try database.prepare(
      """
      INSERT INTO \(table.name) (\(names.joined(separator: ", ")), batch) VALUES (\(places)) \
      ON CONFLICT (\(key)) DO NOTHING
      """)
    let isKey = table.keyIndexes.map { "\(names[$0]) = ?\($0 + 1)" }.joined(separator: " AND ")
    find = try database.prepare("SELECT id FROM \(table.name) WHERE \(isKey)")
    let others = names.indices.filter { !table.keyIndexes.contains($0) }
    let sets = others.map { "\(names[$0]) = ?\($0 + 1)" }.joined(separator: ", ")
    let differs = others.map { "\(names[$0]) IS NOT ?\($0 + 1)" }.joined(separator: " OR ")
    update = try database.prepare(
      """
      UPDATE \(table.name) SET \(sets), batch = ?\(batchPlace) \
      WHERE id = ?\(batchPlace + 1) AND (\(differs))
      """)
    let lastID = try database.integer("SELECT max(id) FROM \(table.name)") ?? 0
    self.table = table
    self.database = database
    firstNewID = lastID + 1
    seen = BitSet(count: Int(lastID) + 1)
  }

  /// Writes one row.
  ///
  /// - Parameters:
  ///   - row: values in the order of the table's columns.
  ///   - batch: the number to stamp the row with, if it changes.
  /// - Returns: what became of it.
  /// - Throws: `DatabaseError` if SQLite refuses.
  func write(_ row: FeedRow, batch: Int64) throws(DatabaseError) -> Change {
    try bind(row, table.columns.indices, to: insert)
    try insert.bind(batch, at: table.columns.count + 1)
    try insert.run()
    if database.changes == 1 { return .inserted(id: database.lastInsertedID) }

    let id = try existingID(of: row)
    if id >= firstNewID || !seen.insert(Int(id)) { return .duplicate }
    try bind(row, table.columns.indices, to: update)
    try update.bind(batch, at: table.columns.count + 1)
    try update.bind(id, at: table.columns.count + 2)
    try update.run()
    return database.changes == 1 ? .updated(id: id) : .unchanged
  }

  private func existingID(of row: FeedRow) throws(DatabaseError) -> Int64 {
    try bind(row, table.keyIndexes, to: find)
    let isThere = try find.step()
    precondition(isThere, "TableWriter: a key of \(table.name) both is there and is not")
    defer { find.reset() }
    return find.integer(0)
  }

  private func bind(
    _ row: FeedRow, _ columns: some Sequence<Int>, to statement: Statement
  ) throws(DatabaseError) {
    for column in columns {
      switch row.values[column] {
      case .null: try statement.bindNull(at: column + 1)
      case .integer(let number): try statement.bind(number, at: column + 1)
      case .decimal(let number): try statement.bind(number, at: column + 1)
      case .text(let range): try statement.bind(row.bytes[range], at: column + 1)
      }
    }
  }
}
