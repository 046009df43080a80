import Glibc

/// A connection to an SQLite database file.
///
/// It is not `Sendable`, and that is the point: a connection belongs to the thread that opened it.
/// Threads share the *file*, each through a connection of its own, and tell each other the ids of
/// rows, which are plain numbers.
@safe final class Database {
  let path: String
  let library: SQLiteLibrary
  private let connection: OpaquePointer

  /// Opens the database, making the file if there is none.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - library: SQLite.
  ///   - patience: how long a statement waits, in milliseconds, while another connection keeps the
  ///     file locked, before it fails.
  /// - Throws: `DatabaseError` if SQLite cannot open or make the file.
  init(path: String, library: SQLiteLibrary, patience: CInt) throws(DatabaseError) {
    // Read and write, make if missing, and no locks inside SQLite: no two threads use a connection.
    let flags: CInt = 0x2 | 0x4 | 0x8000
    var opened: OpaquePointer?
    let code = unsafe library.open(Self.literal(path), &opened, flags, nil)
    guard code == SQLiteCode.ok, let connection = unsafe opened else {
      let system = Self.reason(errno, path)
      var reason = unsafe Self.message(library, opened)
      if code == SQLiteCode.cannotOpen && system != 0 {
        reason += unsafe ": \(String(cString: strerror(system)))"
      }
      _ = unsafe library.close(opened)
      throw DatabaseError(code: code, action: "open \(path)", reason: reason)
    }
    self.path = path
    self.library = library
    unsafe self.connection = unsafe connection
    _ = unsafe library.busyTimeout(connection, patience)
  }

  deinit {
    // Statements keep their database alive, so none is left here.
    _ = unsafe library.close(connection)
  }

  /// A path that SQLite takes for the name of a file, whatever it is: on its own, `:memory:` or `file:x`
  /// would mean something else.
  private static func literal(_ path: String) -> String {
    path.hasPrefix("/") ? path : "./" + path
  }

  /// Why a file could not be opened. SQLite tries a second time without making it, so if the folder
  /// may not be written to, the last error is that there is no such file.
  private static func reason(_ code: CInt, _ path: String) -> CInt {
    guard code == ENOENT else { return code }
    let folder = literal(path).prefix(through: literal(path).lastIndex(of: "/")!)
    let isThere = unsafe access(String(folder), F_OK) == 0
    return unsafe isThere && access(String(folder), W_OK) != 0 ? errno : code
  }

  /// Whether the file may be read but not written.
  var isReadOnly: Bool { unsafe library.isReadOnly(connection, "main") == 1 }

  /// How many rows the last INSERT, UPDATE or DELETE changed.
  var changes: Int { unsafe Int(library.changes(connection)) }

  /// How many rows were changed since the connection was opened.
  var totalChanges: Int { unsafe Int(library.totalChanges(connection)) }

  /// The id of the row inserted last through this connection.
  var lastInsertedID: Int64 { unsafe library.lastInsertID(connection) }

  /// Prepares one statement.
  ///
  /// - Throws: `DatabaseError` if SQLite does not understand it.
  func prepare(_ sql: String) throws(DatabaseError) -> Statement {
    var prepared: OpaquePointer?
    let code = unsafe library.prepare(connection, sql, -1, &prepared, nil)
    guard code == SQLiteCode.ok, let statement = unsafe prepared else {
      throw error(code, sql)
    }
    return unsafe Statement(self, sql, statement)
  }

  /// Runs one statement and drops its answer.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  func execute(_ sql: String) throws(DatabaseError) {
    try prepare(sql).run()
  }

  /// The number in the first column of the first row of an answer; nil if there is no row.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  func integer(_ sql: String) throws(DatabaseError) -> Int64? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.integer(0) : nil
  }

  /// The text in the first column of the first row of an answer; nil if there is none.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  func text(_ sql: String) throws(DatabaseError) -> String? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.text(0) : nil
  }

  /// An error of this connection.
  func error(_ code: CInt, _ sql: String) -> DatabaseError {
    let reason = unsafe Self.message(library, connection)
    return DatabaseError(
      code: code, action: "run \"\(Printable.plain(sql, width: 60))\" on \(path)", reason: reason)
  }

  private static func message(_ library: SQLiteLibrary, _ connection: OpaquePointer?) -> String {
    guard let text = unsafe library.errorMessage(connection) else { return "unknown error" }
    return unsafe String(cString: text)
  }
}
