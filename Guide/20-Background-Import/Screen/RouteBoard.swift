/// What the main thread shows of an import: for each route, what is new.
///
/// It grows with the routes of a feed and not with its stop times, and with no more of them than it has
/// places for, so it stays small whatever the feed holds.
struct RouteBoard: Equatable {
  /// How many routes are kept apart. The largest networks have some thousands.
  static let places = 5_000

  /// What an import brought for one route.
  struct Route: Equatable {
    var name = ""
    var newTrips = 0
    var newStopTimes = 0
    var changedRows = 0

    /// Of the new stop times, in seconds of the service day.
    var firstDeparture: Int64?
    var lastDeparture: Int64?

    fileprivate mutating func add(_ row: RowReader.Row, of table: String, isNew: Bool) {
      if !isNew {
        changedRows += 1
      } else if table == FeedTable.trips.name {
        newTrips += 1
      } else if table == FeedTable.stopTimes.name {
        newStopTimes += 1
        guard let departure = row.departure else { return }
        firstDeparture = min(firstDeparture ?? departure, departure)
        lastDeparture = max(lastDeparture ?? departure, departure)
      }
    }
  }

  /// By the id that the feed gives it, up to ``places`` of them. Stop times of a trip that the database lacks are at "".
  private(set) var routes: [String: Route] = [:]

  /// What came for all routes that there was no place for.
  private(set) var others = Route()

  /// How many new routes there was no place for.
  private(set) var otherRoutes = 0

  /// How many rows of each table were merged.
  private(set) var newRows: [String: Int] = [:]
  private(set) var changedRows: [String: Int] = [:]

  /// All rows that were merged.
  var mergedRows: Int {
    newRows.values.reduce(0, +) + changedRows.values.reduce(0, +)
  }

  /// Reads the rows of a batch by their ids and merges them.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses. The board then lacks rows of the batch.
  mutating func merge(_ batch: Batch, from reader: RowReader) throws(DatabaseError) {
    try reader.withSnapshot { () throws(DatabaseError) in
      for id in batch.inserted {
        try add(reader.row(id, of: batch.table), of: batch.table, isNew: true, reader)
      }
      for id in batch.updated {
        try add(reader.row(id, of: batch.table), of: batch.table, isNew: false, reader)
      }
    }
    if !batch.inserted.isEmpty { newRows[batch.table, default: 0] += batch.inserted.count }
    if !batch.updated.isEmpty { changedRows[batch.table, default: 0] += batch.updated.count }
  }

  private mutating func add(
    _ row: RowReader.Row, of table: String, isNew: Bool, _ reader: RowReader
  ) throws(DatabaseError) {
    guard let id = row.routeID else { return }
    let isKnown = routes[id] != nil
    if !isKnown && routes.count >= Self.places {
      others.add(row, of: table, isNew: isNew)
      if isNew && table == FeedTable.routes.name { otherRoutes += 1 }
      return
    }
    if !isKnown || table == FeedTable.routes.name {
      routes[id, default: Route()].name = try reader.name(ofRoute: id)
    }
    routes[id, default: Route()].add(row, of: table, isNew: isNew)
  }
}
