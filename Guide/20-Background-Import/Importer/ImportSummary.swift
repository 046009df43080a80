/// How an import went.
struct ImportSummary: Equatable, Sendable {
  /// Why it ended early; nil if it did not.
  var failure: ImportFailure?

  /// In the order in which the files were read.
  var tables: [TableCounts] = []

  /// Whether a file that must be there had a header by which its rows could not be read.
  var lacksRequiredTable = false

  /// Rows read in all.
  var rowsRead: Int { tables.reduce(0) { $0 + $1.read } }

  /// Rows of the database that the import inserted or updated.
  var rowsChanged: Int { tables.reduce(0) { $0 + $1.inserted + $1.updated } }
}
