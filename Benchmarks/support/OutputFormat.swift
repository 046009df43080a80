/// How a program writes its figures.
package enum OutputFormat: String, CaseIterable {
  /// For people.
  case table
  /// Columns with tabs between them, a header line first.
  case tsv
  case json

  /// All names, with commas between them.
  package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
