/// A prepared statement of a ``Database``: compiled once, run many times.
///
/// Values take the places `?1`, `?2`, ... of the statement and stay there until they are replaced.
/// Columns of the answer count from 0, as in SQLite.
@safe final class Statement {
  private let database: Database
  private let sql: String
  private let statement: OpaquePointer

  init(_ database: Database, _ sql: String, _ statement: OpaquePointer) {
    self.database = database
    self.sql = sql
    unsafe self.statement = unsafe statement
  }

  deinit {
    _ = unsafe database.library.finalize(statement)
  }

  private var library: SQLiteLibrary { database.library }

  /// Puts a number into a place.
  ///
  /// - Throws: `DatabaseError` if the statement has no such place.
  func bind(_ number: Int64, at place: Int) throws(DatabaseError) {
    try check(unsafe library.bindInteger(statement, CInt(place), number))
  }

  /// Puts a number with a fraction into a place.
  ///
  /// - Throws: `DatabaseError` if the statement has no such place.
  func bind(_ number: Double, at place: Int) throws(DatabaseError) {
    try check(unsafe library.bindDecimal(statement, CInt(place), number))
  }

  /// Puts text, given as bytes of UTF-8, into a place.
  ///
  /// - Throws: `DatabaseError` if the statement has no such place or the text is too long.
  func bind(_ text: ArraySlice<UInt8>, at place: Int) throws(DatabaseError) {
    let code = unsafe text.withUnsafeBytes { bytes in
      // An empty slice may have no address, which SQLite would take for a null.
      let first = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      return unsafe withUnsafePointer(to: CChar(0)) { empty in
        unsafe library.bindText(
          statement, CInt(place), first ?? empty, CInt(bytes.count), Self.copyText)
      }
    }
    try check(code)
  }

  /// Puts text into a place.
  ///
  /// - Throws: `DatabaseError` if the statement has no such place or the text is too long.
  func bind(_ text: String, at place: Int) throws(DatabaseError) {
    try bind(Array(text.utf8)[...], at: place)
  }

  /// Puts a null into a place.
  ///
  /// - Throws: `DatabaseError` if the statement has no such place.
  func bindNull(at place: Int) throws(DatabaseError) {
    try check(unsafe library.bindNull(statement, CInt(place)))
  }

  /// Goes on to the next row of the answer.
  ///
  /// At the end the statement is ready to run again.
  ///
  /// - Returns: whether there is a row.
  /// - Throws: `DatabaseError` if SQLite refuses.
  func step() throws(DatabaseError) -> Bool {
    let code = unsafe library.step(statement)
    if code == SQLiteCode.row { return true }
    let error = code == SQLiteCode.done ? nil : database.error(code, sql)
    // The result code of `reset` repeats the error of `step`.
    _ = unsafe library.reset(statement)
    if let error { throw error }
    return false
  }

  /// Runs the statement to its end.
  ///
  /// - Throws: `DatabaseError` if SQLite refuses.
  func run() throws(DatabaseError) {
    while try step() {}
  }

  /// Drops what is left of the answer, so that the statement can run again.
  func reset() {
    _ = unsafe library.reset(statement)
  }

  /// The number in a column of the row at hand; 0 for a null.
  func integer(_ column: Int) -> Int64 { unsafe library.columnInteger(statement, CInt(column)) }

  /// The number with a fraction in a column of the row at hand; 0 for a null.
  func decimal(_ column: Int) -> Double { unsafe library.columnDecimal(statement, CInt(column)) }

  /// Whether a column of the row at hand holds a null.
  func isNull(_ column: Int) -> Bool { unsafe library.columnType(statement, CInt(column)) == 5 }

  /// The text in a column of the row at hand; nil for a null.
  func text(_ column: Int) -> String? {
    guard let first = unsafe library.columnText(statement, CInt(column)) else { return nil }
    let count = unsafe Int(library.columnBytes(statement, CInt(column)))
    return unsafe String(decoding: UnsafeBufferPointer(start: first, count: count), as: UTF8.self)
  }

  private func check(_ code: CInt) throws(DatabaseError) {
    if code != SQLiteCode.ok { throw database.error(code, sql) }
  }

  /// What tells SQLite to copy a text at once: the pointer is ours only during the call.
  private static var copyText: SQLiteLibrary.Destructor? {
    unsafe unsafeBitCast(-1, to: SQLiteLibrary.Destructor?.self)
  }
}
