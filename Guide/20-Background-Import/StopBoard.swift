/// How many new stop times each stop has: another view of an import.
///
/// It grows with the stops of a feed and not with its stop times, and like ``RouteBoard`` has a bound.
struct StopBoard {
  /// How many stops are kept apart.
  static let places = 5_000

  private(set) var stops: [String: Int] = [:]

  /// New stop times at stops that there was no place for.
  private(set) var others = 0

  /// The new stop times of all stops.
  var total: Int { stops.values.reduce(0, +) + others }

  /// Reads the rows of a batch by their ids and counts them.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  mutating func merge(_ batch: Batch, from reader: Reader) throws(DatabaseError) {
    guard batch.table == FeedTable.stopTimes.name else { return }
    for id in batch.inserted {
      let stop = try reader.stop(ofStopTime: id)
      if stops[stop] == nil, stops.count >= Self.places {
        others += 1
      } else {
        stops[stop, default: 0] += 1
      }
    }
  }

  /// Reads on a connection of its own, for the thread that makes it.
  final class Reader {
    private let stopTime: Statement

    /// Opens a connection.
    ///
    /// - Throws: `DatabaseError` if SQLite refuses.
    init(path: String, library: SQLiteLibrary) throws(DatabaseError) {
      let database = try FeedDatabase.openForReading(path: path, library: library)
      stopTime = try database.prepare("SELECT stop_id FROM stop_times WHERE id = ?1")
    }

    fileprivate func stop(ofStopTime id: Int64) throws(DatabaseError) -> String {
      defer { stopTime.reset() }
      try stopTime.bind(id, at: 1)
      return try stopTime.step() ? stopTime.text(0) ?? "" : ""
    }
  }
}
