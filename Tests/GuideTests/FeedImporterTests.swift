import Foundation
import TestSupport
import Testing

@testable import guide

@Suite("FeedImporter", .endsInTime)
struct FeedImporterTests {
  /// What an import did, told by its events and its summary.
  struct Run {
    var summary: ImportSummary
    var events: [ImportEvent] = []

    var batches: [Batch] {
      events.compactMap { if case .batch(let batch) = $0 { batch } else { nil } }
    }

    var problems: [String] {
      events.compactMap { if case .problem(let problem) = $0 { "\(problem)" } else { nil } }
    }

    var notes: [String] {
      events.compactMap { if case .note(let note) = $0 { note } else { nil } }
    }

    func counts(_ table: String) -> TableCounts? {
      summary.tables.first { $0.table == table }
    }
  }

  let folder: Folder
  let library: SQLiteLibrary

  init() throws {
    folder = try Folder()
    library = try SQLiteLibrary()
  }

  func run(_ feed: String, strict: Bool = false, cancelAfter records: Int = .max) -> Run {
    var events: [ImportEvent] = []
    var asked = 0
    let importer = FeedImporter(
      plan: ImportPlan(feed: feed, database: folder.database, isStrict: strict), library: library,
      isCancelled: {
        asked += 1
        return asked > records
      }, report: { events.append($0) })
    let summary = importer.run()
    return Run(summary: summary, events: events)
  }

  func integer(_ sql: String) throws -> Int64? {
    try ImportedDatabase(folder.database).integer(sql)
  }

  func text(_ sql: String) throws -> String? {
    try ImportedDatabase(folder.database).text(sql)
  }

  /// Every row read is in exactly one of the counts.
  func expectNothingLost(_ run: Run, _ location: SourceLocation = #_sourceLocation) {
    for table in run.summary.tables {
      let sum =
        table.inserted + table.updated + table.unchanged + table.skipped + table.rolledBack
      #expect(table.read == sum, "\(table)", sourceLocation: location)
    }
  }

  // MARK: The sample feed

  @Test("the sample feed is imported whole")
  func sample() throws {
    let run = run(try #require(SampleFeed.path))
    #expect(run.summary.failure == nil)
    #expect(run.problems.isEmpty)
    #expect(run.notes.isEmpty)
    let expected = [
      "agency": 1, "calendar": 2, "stops": 12, "routes": 3, "trips": 20, "stop_times": 152,
    ]
    for (table, count) in expected {
      #expect(run.counts(table)?.inserted == count)
      #expect(try integer("SELECT count(*) FROM \(table)") == Int64(count))
    }
    #expect(run.counts("calendar_dates") == nil)
    #expect(run.counts("stop_times")?.blankLines == 1)
    expectNothingLost(run)
    // The traps of its files, come out right.
    #expect(
      try text("SELECT stop_name FROM stops WHERE stop_id = 'BRIDGE'") == "The \"Iron\" Bridge")
    #expect(
      try text("SELECT stop_name FROM stops WHERE stop_id = 'TOWNHALL'") == "Town Hall, north door")
    #expect(
      try text("SELECT stop_desc FROM stops WHERE stop_id = 'MILL'")
        == "Two shelters:\r\none on each bank")
    #expect(try integer("SELECT stop_desc IS NULL FROM stops WHERE stop_id = 'MARKET'") == 1)
    #expect(try integer("SELECT stop_lon = 8.0932 FROM stops WHERE stop_id = 'DEPOT'") == 1)
    #expect(
      try integer(
        "SELECT departure_time FROM stop_times WHERE trip_id = 'A1' AND stop_sequence = 1")
        == 22_200)
    #expect(
      try integer(
        "SELECT departure_time FROM stop_times WHERE trip_id = 'N4' AND stop_sequence = 8")
        == 25 * 3_600 + 24 * 60)
  }

  @Test("a second run changes not one byte of the database")
  func secondRun() throws {
    let feed = try #require(SampleFeed.path)
    _ = run(feed)
    let before = try Data(contentsOf: URL(filePath: folder.database))
    let again = run(feed)
    #expect(again.summary.rowsChanged == 0)
    #expect(again.summary.tables.map(\.unchanged) == again.summary.tables.map(\.read))
    #expect(again.batches.isEmpty)
    #expect(try Data(contentsOf: URL(filePath: folder.database)) == before)
    expectNothingLost(again)
  }

  @Test("an import leaves no write-ahead log behind")
  func noLeftovers() throws {
    _ = run(try #require(SampleFeed.path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["test.sqlite"])
  }

  @Test("whoever closes the last connection has nothing to copy", arguments: [Int.max, 1_000])
  func emptyLog(records: Int) throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 600, to: feed)
    _ = run(try #require(SampleFeed.path))
    let other = try ImportedDatabase(folder.database)
    #expect(try other.integer("SELECT count(*) FROM routes") == 3)
    #expect(run(feed, cancelAfter: records).summary.rowsChanged > 500)
    let log = try FileManager.default.attributesOfItem(atPath: folder.database + "-wal")
    #expect(log[.size] as? Int == 0)
  }

  // MARK: Batches

  @Test("batches hold 250 records, and the log says what the rows say")
  func batches() throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 1_100, to: feed)
    let run = run(feed)
    let sizes = run.batches.filter { $0.table == "stop_times" }.map(\.inserted.count)
    #expect(sizes == [250, 250, 250, 250, 100])
    #expect(run.batches.map(\.number) == (1...Int64(run.batches.count)).map { $0 })
    #expect(try ImportedDatabase(folder.database).tornBatches == 0)
    #expect(try integer("SELECT count(*) FROM import_batches") == Int64(run.batches.count))
  }

  @Test("progress is told once per percent at most, and reaches 100")
  func progress() throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 3_000, to: feed)
    let percents = run(feed).events.compactMap { event in
      if case .progress(let percent) = event { percent } else { nil }
    }
    #expect(percents.last == 100)
    #expect(percents == Set(percents).sorted())
    #expect(percents.count > 50)
  }

  @Test(
    "cancelled at any record, the database holds whole batches",
    arguments: [0, 1, 12, 300, 1_290, 1_300, 1_790])
  func cancel(records: Int) throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 1_000, to: feed)
    let run = run(feed, cancelAfter: records)
    #expect(run.summary.failure == .cancelled)
    #expect(try text("PRAGMA integrity_check") == "ok")
    #expect(try ImportedDatabase(folder.database).tornBatches == 0)
    #expect(try integer("SELECT count(*) FROM stop_times")! % 250 == 0)
    for table in run.summary.tables {
      #expect(try integer("SELECT count(*) FROM \(table.table)") == Int64(table.inserted))
    }
    expectNothingLost(run)
    // And the next run does the rest.
    let rest = self.run(feed)
    #expect(rest.summary.failure == nil)
    #expect(try integer("SELECT count(*) FROM stop_times") == 1_000)
    #expect(rest.summary.rowsChanged + run.summary.rowsChanged == rest.summary.rowsRead)
  }

  @Test(
    "cancelled between two records that are far apart, an import stops at the next piece",
    arguments: ["\n", "x", "\"\"", "A,\"\""])
  func cancelBetweenRecords(filler: String) throws {
    let feed = try folder.feed([
      "stops": Folder.headers["stops"]! + "\n" + String(repeating: filler, count: 1_000_000)
    ])
    var isReading = false
    var asked = 0
    let importer = FeedImporter(
      plan: ImportPlan(feed: feed, database: folder.database), library: library,
      isCancelled: {
        if isReading { asked += 1 }
        return asked > 5
      },
      report: { event in
        if case .started("stops.txt") = event { isReading = true }
      })
    let summary = importer.run()
    #expect(summary.failure == .cancelled)
    // And nothing was made of where the reader was interrupted.
    #expect(summary.tables.map(\.table) == ["stops"])
    #expect(summary.tables.first?.problems.isEmpty == true)
  }

  @Test("a file that is cut while it is read is an error, even if it is cut between two rows")
  func cutFile() throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 10_000, to: feed)
    let path = feed + "/stop_times.txt"
    var isCut = false
    var events: [ImportEvent] = []
    let importer = FeedImporter(
      plan: ImportPlan(feed: feed, database: folder.database), library: library,
      isCancelled: { false },
      report: { event in
        events.append(event)
        guard case .batch(let batch) = event, batch.table == "stop_times", !isCut else { return }
        isCut = true
        let bytes = FileManager.default.contents(atPath: path)!
        let end = bytes[100_000...].firstIndex(of: UInt8(ascii: "\n"))! + 1
        #expect(unsafe truncate(path, end) == 0)
      })
    let run = Run(summary: importer.run(), events: events)
    guard case .file(let error) = run.summary.failure else {
      Issue.record("not noticed: \(run.summary)")
      return
    }
    #expect(error.path == path)
    #expect(error.reason.hasPrefix("it was cut to 1000"))
    expectNothingLost(run)
    #expect(try ImportedDatabase(folder.database).tornBatches == 0)
    #expect(try integer("SELECT count(*) FROM stop_times")! % 250 == 0)
  }

  // MARK: Changes

  @Test("changed rows are updated and told by id, others left alone")
  func updates() throws {
    let before = "stop_id,stop_name,stop_lat,stop_lon\nA,Old,1,2\nB,Same,1,2\n"
    let after = "stop_id,stop_name,stop_lat,stop_lon\nB,Same,1,2\nA,New,1,2\nC,More,1,2\n"
    _ = run(try folder.feed(["stops": before]))
    let id = try #require(try integer("SELECT id FROM stops WHERE stop_id = 'A'"))
    let run = run(try folder.feed(["stops": after]))
    #expect(run.counts("stops")?.outcome == [1, 1, 1, 0])
    #expect(run.batches.flatMap(\.updated) == [id])
    #expect(try text("SELECT stop_name FROM stops WHERE id = \(id)") == "New")
  }

  @Test("an agency without an id is one agency, however often imported")
  func agencyWithoutID() throws {
    let feed = try folder.feed(["agency": "agency_name\nWe\n"])
    #expect(run(feed).counts("agency")?.inserted == 1)
    #expect(run(feed).counts("agency")?.unchanged == 1)
  }

  @Test("the first of two rows with one key stays, in every run")
  func duplicates() throws {
    let feed = try folder.feed([
      "stops": "stop_id,stop_name,stop_lat,stop_lon\nA,First,1,2\nA,Second,1,2\nB,,1,2\n"
    ])
    for expected in [[2, 0, 0, 1], [0, 0, 2, 1], [0, 0, 2, 1]] {
      let run = run(feed)
      #expect(run.counts("stops")?.outcome == expected)
      #expect(
        run.problems == ["stops.txt:3:1: duplicate key: an earlier row has the same stop_id \"A\""])
      #expect(try text("SELECT stop_name FROM stops WHERE stop_id = 'A'") == "First")
    }
  }

  // MARK: Problems

  @Test("each problem is told with file, line, column and reason, and the rest is imported")
  func problems() throws {
    let feed = try folder.feed([
      "stops": """
      stop_name,stop_id,stop_lat,stop_lon
      good,A,1,2
      short,B,1
      long,C,1,2,3,4
      no id,,1,2
      not a number,D,north,2
      too far north,E,91,2
      "open,F,1,2
      "shut"x,G,1,2
      good,H,1,2
      """,
      "stop_times": """
      trip_id,arrival_time,departure_time,stop_id,stop_sequence
      T, 7:00:00,24:00:00,A,1
      T,7:60:00,8:00:00,A,2
      T,8:00:00,8:00,A,3
      T,,,A,-4
      T,,,A,5
      """,
    ])
    let run = run(feed)
    #expect(
      run.problems == [
        "stops.txt:3:10: wrong number of fields: 3 fields where the header has 4",
        "stops.txt:4:12: wrong number of fields: 6 fields where the header has 4",
        "stops.txt:5:7: missing value: stop_id is empty",
        "stops.txt:6:16: bad value: stop_lat \"north\" is not a number in -90.0...90.0",
        "stops.txt:7:17: bad value: stop_lat \"91\" is not a number in -90.0...90.0",
        // The next quote seems to close it, and the text behind that gives it away.
        "stops.txt:9:2: bytes after a closing quote: "
          + "a closing quote must be followed by a comma or the end of the line",
        "stops.txt:9:7: bytes after a closing quote: "
          + "a closing quote must be followed by a comma or the end of the line",
        "stop_times.txt:3:3: bad value: arrival_time \"7:60:00\" is not a time such as 8:05:00 or 25:10:00",
        "stop_times.txt:4:11: bad value: departure_time \"8:00\" is not a time such as 8:05:00 or 25:10:00",
        "stop_times.txt:5:7: bad value: stop_sequence \"-4\" is not a whole number in 0...2147483647",
      ])
    #expect(run.summary.failure == nil)
    #expect(run.counts("stops")?.inserted == 2)
    #expect(run.counts("stops")?.skipped == 7)
    #expect(run.counts("stop_times")?.inserted == 2)
    #expect(run.counts("stop_times")?.problems == [.badValue: 3])
    #expect(!run.summary.lacksRequiredTable)
    expectNothingLost(run)
  }

  @Test("a file without a required column is passed over, and its rows are counted")
  func missingColumn() throws {
    let feed = try folder.feed(["stops": "stop_id,stop_lat,stop_lon\nA,1,2\nB,1,2\n"])
    let run = run(feed)
    #expect(
      run.problems == [
        "stops.txt:1:26: missing column: the column stop_name, which must be there, is not"
      ])
    #expect(run.counts("stops")?.read == 2)
    #expect(run.counts("stops")?.skipped == 2)
    #expect(run.summary.failure == nil)
    #expect(run.summary.lacksRequiredTable)
    expectNothingLost(run)
  }

  @Test("an empty file, a doubled column and a header that is not text are told")
  func badHeaders() throws {
    let run = run(
      try folder.feed([
        "stops": "", "routes": "route_id,route_type,route_id\n1,3,1\n",
        "trips": "route_id,\"service\n",
      ]))
    #expect(
      run.problems == [
        "stops.txt:1:1: unusable header: the file is empty, not even a header line is there",
        "routes.txt:1:21: unusable header: the column \"route_id\" is there twice",
        "trips.txt:1:10: unusable header: the quote that opens here is never closed",
      ])
    #expect(run.counts("routes")?.skipped == 1)
    expectNothingLost(run)
  }

  @Test("a folder without the required files is refused before a database is made")
  func missingFiles() throws {
    let feed = try folder.feed(["trips": Folder.absent, "stops": Folder.absent])
    let run = run(feed)
    guard case .noFeed(let problems) = run.summary.failure else {
      Issue.record("not refused: \(run.summary)")
      return
    }
    #expect(problems.map(\.file) == ["stops.txt", "trips.txt"])
    #expect(!FileManager.default.fileExists(atPath: folder.database))
  }

  @Test("a folder that is not there is an error with the system's reason")
  func missingFolder() {
    let run = run(folder.path + "/nowhere")
    #expect(
      run.summary.failure
        == .file(
          FileError(
            action: "read the folder", path: folder.path + "/nowhere",
            reason: "No such file or directory")))
  }

  @Test("files and columns that have no place are named")
  func notes() throws {
    let feed = try folder.feed([
      "shapes": "shape_id\n", "stops": "stop_id,stop_name,stop_lat,stop_lon,colour\nA,B,1,2,red\n",
    ])
    #expect(
      run(feed).notes == [
        "\"shapes.txt\" is not imported: there is no table for it",
        "stops.txt: column \"colour\" has no place in the table",
      ])
  }

  @Test("of many problems the first are told and all are counted")
  func manyProblems() throws {
    let rows = String(repeating: "A\n", count: 1_000)
    let run = run(try folder.feed(["stops": "stop_id,stop_name,stop_lat,stop_lon\n" + rows]))
    #expect(run.problems.count == FeedImporter.toldProblems)
    #expect(run.counts("stops")?.problems == [.wrongFieldCount: 1_000])
    expectNothingLost(run)
  }

  // MARK: Strict

  @Test("under strict the first problem undoes everything, also what was updated")
  func strict() throws {
    let header = "stop_id,stop_name,stop_lat,stop_lon\n"
    _ = run(try folder.feed(["stops": header + "A,Old,1,2\n"]))
    let before = try Data(contentsOf: URL(filePath: folder.database))
    let rows = (0..<600).map { "S\($0),x,1,2\n" }.joined()
    let feed = try folder.feed([
      "stops": header + "A,New,1,2\n" + rows, "trips": Folder.headers["trips"]! + "\n1,2\n",
    ])
    let run = run(feed, strict: true)
    guard case .refused(let problem) = run.summary.failure else {
      Issue.record("not refused: \(run.summary)")
      return
    }
    #expect(
      "\(problem)" == "trips.txt:2:4: wrong number of fields: 2 fields where the header has 3")
    #expect(run.batches.isEmpty)
    #expect(run.counts("stops")?.rolledBack == 601)
    expectNothingLost(run)
    #expect(try integer("SELECT count(*) FROM stops") == 1)
    #expect(try text("SELECT stop_name FROM stops") == "Old")
    #expect(try Data(contentsOf: URL(filePath: folder.database)) == before)
  }

  @Test("under strict a good feed is told of once it is all there, in batches of 250 at most")
  func strictGood() throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 600, to: feed)
    let run = run(feed, strict: true)
    #expect(run.summary.failure == nil)
    #expect(
      run.batches.filter { $0.table == "stop_times" }.map(\.inserted.count) == [250, 250, 100])
    #expect(run.batches.flatMap(\.updated).isEmpty)
    #expect(try ImportedDatabase(folder.database).tornBatches == 0)
  }

  @Test("under strict a cancelled import leaves nothing")
  func strictCancel() throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 600, to: feed)
    let run = run(feed, strict: true, cancelAfter: 1_500)
    #expect(run.summary.failure == .cancelled)
    #expect(try integer("SELECT count(*) FROM stops") == 0)
    expectNothingLost(run)
  }

  @Test("of many notes the first are told, and how many there are more")
  func manyNotes() throws {
    let columns = (0..<100).map { ",x\($0)" }.joined()
    let feed = try folder.feed(["stops": Folder.headers["stops"]! + columns + ",,\n"])
    for index in 0..<50 {
      let path = "\(feed)/\u{1B}[31m\(index).txt"
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
    }
    let run = run(feed)
    #expect(run.notes.count == FeedImporter.toldNotes + 1)
    #expect(run.notes.first == "\"\\u{1B}[31m0.txt\" is not imported: there is no table for it")
    #expect(run.notes.last == "131 more files and columns have no place in the database")
  }

  @Test("columns without a name are told")
  func unnamedColumns() throws {
    let feed = try folder.feed(["stops": Folder.headers["stops"]! + ",, \nA,a,1,2,lost,\n"])
    let run = run(feed)
    #expect(run.notes == ["stops.txt: columns without a name (2) are not imported"])
    #expect(run.counts("stops")?.inserted == 1)
  }

  // MARK: The database's file

  @Test(
    "a database that may not be written is refused before anything is read",
    .enabled(if: geteuid() != 0))
  func readOnly() throws {
    let feed = try #require(SampleFeed.path)
    _ = run(feed)
    #expect(unsafe chmod(folder.database, 0o444) == 0)
    let run = run(feed)
    guard case .database(let error) = run.summary.failure else {
      Issue.record("not refused: \(run.summary)")
      return
    }
    #expect(error.reason == "it may be read but not written")
    #expect(run.summary.tables.isEmpty)
  }

  @Test(
    "a folder that may not be written is told as such", .enabled(if: geteuid() != 0))
  func readOnlyFolder() throws {
    let feed = try #require(SampleFeed.path)
    #expect(unsafe chmod(folder.path, 0o555) == 0)
    defer { unsafe _ = chmod(folder.path, 0o755) }
    guard case .database(let error) = run(feed).summary.failure else {
      Issue.record("not refused")
      return
    }
    #expect(error.reason.hasSuffix(": Permission denied"))
  }

  @Test("a file that is no database is refused and left as it is")
  func notADatabase() throws {
    let text = Data(String(repeating: "not a database\n", count: 100).utf8)
    try text.write(to: URL(filePath: folder.database))
    let run = run(try #require(SampleFeed.path))
    guard case .database(let error) = run.summary.failure else {
      Issue.record("not refused: \(run.summary)")
      return
    }
    #expect(error.code == SQLiteCode.notADatabase)
    #expect(try Data(contentsOf: URL(filePath: folder.database)) == text)
  }

  @Test("a database of another program is refused and left as it is")
  func foreignDatabase() throws {
    try Database(path: folder.database, library: library, patience: 0)
      .execute("CREATE TABLE theirs (x)")
    let before = try Data(contentsOf: URL(filePath: folder.database))
    guard case .database(let error) = run(try #require(SampleFeed.path)).summary.failure else {
      Issue.record("not refused")
      return
    }
    #expect(error.reason.contains("another program"))
    #expect(try Data(contentsOf: URL(filePath: folder.database)) == before)
  }

  @Test("an import into which another program writes ends with an error, and whole batches")
  func disturbed() throws {
    let feed = folder.path + "/generated"
    try FeedGenerator.write(stopTimes: 600, to: feed)
    _ = run(try #require(SampleFeed.path))
    let other = try ImportedDatabase(folder.database).database
    var batches = 0
    let importer = FeedImporter(
      plan: ImportPlan(feed: feed, database: folder.database), library: library,
      isCancelled: { false },
      report: { event in
        guard case .batch = event else { return }
        batches += 1
        if batches == 5 { try? other.execute("UPDATE stops SET stop_desc = 'theirs' WHERE id = 1") }
      })
    guard case .database(let error) = importer.run().failure else {
      Issue.record("not refused")
      return
    }
    #expect(error.reason.contains("another program has written"))
    #expect(batches == 5)
    #expect(try ImportedDatabase(folder.database).tornBatches == 0)
    #expect(try text("SELECT stop_desc FROM stops WHERE id = 1") == "theirs")
  }

  @Test("a pipe in place of a file is refused and not waited for")
  func pipe() throws {
    let feed = try folder.feed(["stops": Folder.absent])
    #expect(unsafe mkfifo(feed + "/stops.txt", 0o600) == 0)
    #expect(
      run(feed).summary.failure
        == .file(
          FileError(action: "read", path: feed + "/stops.txt", reason: "it is a pipe")))
  }

  @Test("a folder that cannot hold the database is an error with the system's reason")
  func noFolder() throws {
    let importer = FeedImporter(
      plan: ImportPlan(feed: try #require(SampleFeed.path), database: folder.path + "/no/db"),
      library: library, isCancelled: { false }, report: { _ in })
    guard case .database(let error) = importer.run().failure else {
      Issue.record("not refused")
      return
    }
    #expect("\(error)".contains("No such file or directory"))
  }
}

extension TableCounts {
  /// Inserted, updated, unchanged, skipped.
  fileprivate var outcome: [Int] { [inserted, updated, unchanged, skipped] }
}
