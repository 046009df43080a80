import Foundation

@testable import guide

/// Looks into a database after an import, with a connection of its own.
struct ImportedDatabase {
  let database: Database

  init(_ path: String) throws {
    database = try Database(path: path, library: SQLiteLibrary(), patience: 0)
  }

  func integer(_ sql: String) throws -> Int64? { try database.integer(sql) }
  func text(_ sql: String) throws -> String? { try database.text(sql) }

  /// Whether SQLite finds the file sound.
  var isSound: Bool {
    get throws { try text("PRAGMA integrity_check") == "ok" }
  }

  /// Batches of which the rows are not as many as the log says, and batches of rows that are not in
  /// the log. Holds for databases that were imported into once, or of which nothing was updated.
  var tornBatches: Int64? {
    get throws {
      let rows = FeedTable.all.map { "SELECT batch FROM \($0.name)" }
      return try integer(
        """
        WITH written AS (
          SELECT batch, count(*) AS rows FROM (\(rows.joined(separator: " UNION ALL ")))
          GROUP BY batch)
        SELECT (SELECT count(*) FROM import_batches LEFT JOIN written USING (batch)
                WHERE inserted + updated IS NOT rows)
          + (SELECT count(*) FROM written WHERE batch NOT IN (SELECT batch FROM import_batches))
        """)
    }
  }

  /// Batches that hold neither 250 records nor the last of their file.
  var shortBatches: Int64? {
    get throws {
      try integer(
        """
        SELECT count(*) FROM import_batches AS one WHERE records <> 250 AND EXISTS (
          SELECT * FROM import_batches AS other
          WHERE other.file = one.file AND other.batch > one.batch)
        """)
    }
  }
}
