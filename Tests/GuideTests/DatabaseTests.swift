import Foundation
import TestSupport
import Testing

@testable import guide

@Suite("Database", .endsInTime)
struct DatabaseTests {
  let folder: Folder
  let library: SQLiteLibrary

  init() throws {
    folder = try Folder()
    library = try SQLiteLibrary()
  }

  func open() throws -> Database {
    try Database(path: folder.database, library: library, patience: 0)
  }

  @Test("values of every kind come back as they went in")
  func values() throws {
    let database = try open()
    try database.execute("CREATE TABLE t (a, b, c, d, e)")
    let insert = try database.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)")
    try insert.bind(Int64.min, at: 1)
    try insert.bind(-0.1, at: 2)
    try insert.bind("Zürich \u{0} 🚋", at: 3)
    try insert.bind([UInt8]()[...], at: 4)
    try insert.bindNull(at: 5)
    try insert.run()
    #expect(database.changes == 1)
    let select = try database.prepare("SELECT a, b, c, d, e FROM t")
    #expect(try select.step())
    #expect(select.integer(0) == .min)
    #expect(select.decimal(1) == -0.1)
    #expect(select.text(2) == "Zürich \u{0} 🚋")
    #expect(select.text(3) == "")
    #expect(!select.isNull(3))
    #expect(select.isNull(4))
    #expect(select.text(4) == nil)
    #expect(try !select.step())
  }

  @Test("a statement runs again with other values")
  func reuse() throws {
    let database = try open()
    try database.execute("CREATE TABLE t (a)")
    let insert = try database.prepare("INSERT INTO t VALUES (?1)")
    for number in 1...10 {
      try insert.bind(Int64(number), at: 1)
      try insert.run()
      #expect(database.lastInsertedID == Int64(number))
    }
    #expect(try database.integer("SELECT sum(a) FROM t") == 55)
    #expect(database.totalChanges == 10)
  }

  @Test("what SQLite refuses is told with its code, the statement and its words")
  func errors() throws {
    let database = try open()
    #expect(
      throws: DatabaseError(
        code: 1, action: "run \"SELECT nonsense\" on \(folder.database)",
        reason: "no such column: nonsense")
    ) { try database.execute("SELECT nonsense") }
    try database.execute("CREATE TABLE t (a UNIQUE)")
    let insert = try database.prepare("INSERT INTO t VALUES (1)")
    try insert.run()
    #expect { try insert.run() } throws: { ($0 as? DatabaseError)?.code == 19 }
    #expect { try insert.bind(Int64(1), at: 2) } throws: { ($0 as? DatabaseError)?.code == 25 }
    // And the connection is as good as before.
    #expect(try database.integer("SELECT count(*) FROM t") == 1)
  }

  @Test("a file that cannot be opened is told with the system's reason")
  func cannotOpen() throws {
    let path = folder.path + "/no/db"
    let error = #expect(throws: DatabaseError.self) {
      _ = try Database(path: path, library: library, patience: 0)
    }
    #expect(error?.description.contains("open \(path)") == true)
    #expect(error?.description.contains("No such file or directory") == true)
  }

  @Test("one connection reads what was committed while another writes")
  func snapshots() throws {
    let writer = try FeedDatabase.openForWriting(path: folder.database, library: library)
    let reader = try FeedDatabase.openForReading(path: folder.database, library: library)
    try writer.execute("BEGIN IMMEDIATE")
    try writer.execute("INSERT INTO stops (stop_id, batch) VALUES ('A', 1)")
    #expect(try reader.integer("SELECT count(*) FROM stops") == 0)
    try writer.execute("COMMIT")
    #expect(try reader.integer("SELECT count(*) FROM stops") == 1)
    #expect(throws: DatabaseError.self) { try reader.execute("DELETE FROM stops") }
  }

  @Test("two connections that want to write are kept apart")
  func twoWriters() throws {
    let first = try FeedDatabase.openForWriting(path: folder.database, library: library)
    try first.execute("BEGIN IMMEDIATE")
    let second = try Database(path: folder.database, library: library, patience: 0)
    #expect { try second.execute("BEGIN IMMEDIATE") } throws: {
      ($0 as? DatabaseError)?.code == SQLiteCode.busy
    }
  }

  @Test("a library that is not there is told with its name and how to get it")
  func missingLibrary() {
    let error = #expect(throws: LibraryError.self) { _ = try SQLiteLibrary(name: "libnone.so.9") }
    #expect(error?.description.contains("libnone.so.9") == true)
    #expect(error?.description.contains("apt-get install libsqlite3-0") == true)
  }

  @Test("a library that is not SQLite is told by what it lacks")
  func otherLibrary() {
    let error = #expect(throws: LibraryError.self) { _ = try SQLiteLibrary(name: "libm.so.6") }
    #expect(error?.reason.contains("sqlite3_open_v2") == true)
  }

  @Test("a set of bits is a set", arguments: [1, 2] as [UInt64])
  func bitSet(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var bits = BitSet(count: 200)
    var set: Set<Int> = []
    for _ in 0..<1_000 {
      let number = Int.random(in: 0..<200, using: &random)
      #expect(bits.insert(number) == set.insert(number).inserted)
    }
  }
}
