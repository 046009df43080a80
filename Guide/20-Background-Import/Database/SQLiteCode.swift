/// The result codes of SQLite that the guide looks at.
enum SQLiteCode {
  static let ok: CInt = 0
  static let busy: CInt = 5
  static let readOnly: CInt = 8
  static let cannotOpen: CInt = 14
  static let notADatabase: CInt = 26
  static let row: CInt = 100
  static let done: CInt = 101
}
