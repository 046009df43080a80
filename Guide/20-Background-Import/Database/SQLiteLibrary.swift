import Glibc

/// The functions of SQLite that the guide calls, found in the library at run time.
///
/// Loading it so, and not linking it, needs no header and no development package to build the guide,
/// and leaves us the message when the library is not there.
// SAFETY of the unsafe calls below and in `Database` and `Statement`: the types of the functions are
// those of sqlite3.h, which has never changed one of them since version 3.
@safe final class SQLiteLibrary: Sendable {
  /// The name that the dynamic linker looks for.
  static let defaultName = "libsqlite3.so.0"

  /// The oldest version that knows `ON CONFLICT`: 3.24, of 2018.
  static let oldestVersion: CInt = 3_024_000

  typealias Destructor = @convention(c) (UnsafeMutableRawPointer?) -> Void

  let open:
    @Sendable @convention(c) (
      UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>?, CInt, UnsafePointer<CChar>?
    ) -> CInt
  let close: @Sendable @convention(c) (OpaquePointer?) -> CInt
  let errorMessage: @Sendable @convention(c) (OpaquePointer?) -> UnsafePointer<CChar>?
  let isReadOnly: @Sendable @convention(c) (OpaquePointer?, UnsafePointer<CChar>?) -> CInt
  let busyTimeout: @Sendable @convention(c) (OpaquePointer?, CInt) -> CInt
  let changes: @Sendable @convention(c) (OpaquePointer?) -> CInt
  let totalChanges: @Sendable @convention(c) (OpaquePointer?) -> CInt
  let lastInsertID: @Sendable @convention(c) (OpaquePointer?) -> Int64
  let prepare:
    @Sendable @convention(c) (
      OpaquePointer?, UnsafePointer<CChar>?, CInt, UnsafeMutablePointer<OpaquePointer?>?,
      UnsafeMutablePointer<UnsafePointer<CChar>?>?
    ) -> CInt
  let finalize: @Sendable @convention(c) (OpaquePointer?) -> CInt
  let step: @Sendable @convention(c) (OpaquePointer?) -> CInt
  let reset: @Sendable @convention(c) (OpaquePointer?) -> CInt
  let bindNull: @Sendable @convention(c) (OpaquePointer?, CInt) -> CInt
  let bindInteger: @Sendable @convention(c) (OpaquePointer?, CInt, Int64) -> CInt
  let bindDecimal: @Sendable @convention(c) (OpaquePointer?, CInt, Double) -> CInt
  let bindText:
    @Sendable @convention(c) (OpaquePointer?, CInt, UnsafePointer<CChar>?, CInt, Destructor?)
      -> CInt
  let columnType: @Sendable @convention(c) (OpaquePointer?, CInt) -> CInt
  let columnInteger: @Sendable @convention(c) (OpaquePointer?, CInt) -> Int64
  let columnDecimal: @Sendable @convention(c) (OpaquePointer?, CInt) -> Double
  let columnText: @Sendable @convention(c) (OpaquePointer?, CInt) -> UnsafePointer<UInt8>?
  let columnBytes: @Sendable @convention(c) (OpaquePointer?, CInt) -> CInt

  /// Loads the library. It stays loaded until the process ends.
  ///
  /// - Throws: `LibraryError` if it is not there, is too old, or was built for one thread only.
  init(name: String = defaultName) throws(LibraryError) {
    let symbols = try LibrarySymbols(name: name)
    unsafe open = try symbols.function("sqlite3_open_v2")
    unsafe close = try symbols.function("sqlite3_close_v2")
    unsafe errorMessage = try symbols.function("sqlite3_errmsg")
    unsafe isReadOnly = try symbols.function("sqlite3_db_readonly")
    unsafe busyTimeout = try symbols.function("sqlite3_busy_timeout")
    unsafe changes = try symbols.function("sqlite3_changes")
    unsafe totalChanges = try symbols.function("sqlite3_total_changes")
    unsafe lastInsertID = try symbols.function("sqlite3_last_insert_rowid")
    unsafe prepare = try symbols.function("sqlite3_prepare_v2")
    unsafe finalize = try symbols.function("sqlite3_finalize")
    unsafe step = try symbols.function("sqlite3_step")
    unsafe reset = try symbols.function("sqlite3_reset")
    unsafe bindNull = try symbols.function("sqlite3_bind_null")
    unsafe bindInteger = try symbols.function("sqlite3_bind_int64")
    unsafe bindDecimal = try symbols.function("sqlite3_bind_double")
    unsafe bindText = try symbols.function("sqlite3_bind_text")
    unsafe columnType = try symbols.function("sqlite3_column_type")
    unsafe columnInteger = try symbols.function("sqlite3_column_int64")
    unsafe columnDecimal = try symbols.function("sqlite3_column_double")
    unsafe columnText = try symbols.function("sqlite3_column_text")
    unsafe columnBytes = try symbols.function("sqlite3_column_bytes")

    typealias Number = @convention(c) () -> CInt
    let version: Number = try symbols.function("sqlite3_libversion_number")
    guard version() >= Self.oldestVersion else {
      throw LibraryError(name: name, reason: "its version \(version()) is below 3.24")
    }
    let isThreadSafe: Number = try symbols.function("sqlite3_threadsafe")
    guard isThreadSafe() != 0 else {
      throw LibraryError(name: name, reason: "it was built for programs with one thread")
    }
  }
}
