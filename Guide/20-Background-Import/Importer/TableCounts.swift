/// What became of the rows of one file. Every row read is in exactly one of the other counts.
struct TableCounts: Equatable, Sendable {
  let table: String

  /// Rows after the header, blank lines not among them.
  var read = 0
  var inserted = 0
  var updated = 0
  var unchanged = 0

  /// Rows with a problem.
  var skipped = 0

  /// Good rows whose transaction was undone.
  var rolledBack = 0
  var blankLines = 0

  /// How often each sort of problem came up.
  var problems: [Problem.Kind: Int] = [:]

  init(table: String) {
    self.table = table
  }

  /// Takes back that rows were written, as all of it was undone.
  mutating func forgetWrites() {
    inserted = 0
    updated = 0
    unchanged = 0
  }

  /// Counts as undone what was read and is not accounted for.
  mutating func countRestAsRolledBack() {
    rolledBack = read - inserted - updated - unchanged - skipped
  }
}
