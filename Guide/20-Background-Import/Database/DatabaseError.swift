/// SQLite refused something.
struct DatabaseError: Error, Equatable, CustomStringConvertible {
  /// SQLite's result code, as its documentation lists them.
  let code: CInt

  /// What was tried, for people: `open feed.sqlite`, or the statement.
  let action: String

  /// SQLite's own words.
  let reason: String

  var description: String { "cannot \(action): \(reason) (SQLite error \(code))" }
}
