/// Reads rows by id, on the main thread's own connection.
final class RowReader {
  /// What the main thread wants to know of a row.
  struct Row: Equatable {
    /// The route that the row is about: "" for none, nil for rows of tables that are about no route.
    var routeID: String?
    var departure: Int64?
  }

  private let database: Database
  private let begin: Statement
  private let end: Statement
  private let routeRow: Statement
  private let tripRow: Statement
  private let stopTimeRow: Statement
  private let routeOfTrip: Statement
  private let nameOfRoute: Statement

  /// The trip that was looked up last, and its route: rows of one trip mostly come together.
  private var lastTrip: (id: String, routeID: String)?

  /// Opens a connection for reading.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  init(path: String, library: SQLiteLibrary) throws(DatabaseError) {
    database = try FeedDatabase.openForReading(path: path, library: library)
    begin = try database.prepare("BEGIN")
    end = try database.prepare("COMMIT")
    routeRow = try database.prepare("SELECT route_id FROM routes WHERE id = ?1")
    tripRow = try database.prepare("SELECT route_id FROM trips WHERE id = ?1")
    stopTimeRow = try database.prepare(
      "SELECT trip_id, departure_time FROM stop_times WHERE id = ?1")
    routeOfTrip = try database.prepare("SELECT route_id FROM trips WHERE trip_id = ?1")
    nameOfRoute = try database.prepare(
      """
      SELECT trim(coalesce(route_short_name, '') || ' ' || coalesce(route_long_name, ''))
      FROM routes WHERE route_id = ?1
      """)
  }

  /// Has all reads of `body` see the database as it is at one moment.
  ///
  /// The shorter the better: as long as the moment lasts, the write-ahead log keeps what came later.
  ///
  /// - Throws: what `body` throws, or `DatabaseError` if SQLite refuses.
  func withSnapshot(_ body: () throws(DatabaseError) -> Void) throws(DatabaseError) {
    try begin.run()
    do {
      try body()
    } catch {
      try? endSnapshot()
      throw error
    }
    try endSnapshot()
  }

  private func endSnapshot() throws(DatabaseError) {
    // A statement that still stood on its row would keep the moment alive.
    for statement in [routeRow, tripRow, stopTimeRow] { statement.reset() }
    try end.run()
  }

  /// The row of that id.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses, or there is no such row.
  func row(_ id: Int64, of table: String) throws(DatabaseError) -> Row {
    switch table {
    case FeedTable.routes.name: return Row(routeID: try read(routeRow, id, table).text(0))
    case FeedTable.trips.name: return Row(routeID: try read(tripRow, id, table).text(0))
    case FeedTable.stopTimes.name:
      let row = try read(stopTimeRow, id, table)
      let departure = row.isNull(1) ? nil : row.integer(1)
      return Row(routeID: try routeID(ofTrip: row.text(0) ?? ""), departure: departure)
    default: return Row()
    }
  }

  /// What a route is called; its id if it has no name or there is no such route.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  func name(ofRoute id: String) throws(DatabaseError) -> String {
    defer { nameOfRoute.reset() }
    try nameOfRoute.bind(id, at: 1)
    guard try nameOfRoute.step(), let name = nameOfRoute.text(0), !name.isEmpty else { return id }
    return name
  }

  private func routeID(ofTrip id: String) throws(DatabaseError) -> String {
    if let lastTrip, lastTrip.id == id { return lastTrip.routeID }
    defer { routeOfTrip.reset() }
    try routeOfTrip.bind(id, at: 1)
    let routeID = try routeOfTrip.step() ? routeOfTrip.text(0) ?? "" : ""
    lastTrip = (id, routeID)
    return routeID
  }

  /// Puts a statement on the row of that id, where it stays until it is used again.
  private func read(
    _ statement: Statement, _ id: Int64, _ table: String
  ) throws(DatabaseError) -> Statement {
    statement.reset()
    try statement.bind(id, at: 1)
    guard try statement.step() else {
      throw DatabaseError(
        code: SQLiteCode.done, action: "read row \(id) of \(table)", reason: "there is no such row")
    }
    return statement
  }
}
