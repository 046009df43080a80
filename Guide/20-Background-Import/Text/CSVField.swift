/// Where a field's text stands in its record, in bytes from the record's start.
struct CSVField: Equatable, Sendable {
  var start: Int
  var end: Int

  /// Whether quotes stood around the text (they are outside `start..<end`).
  var isQuoted = false

  /// Whether a quote in the text was written twice.
  var hasDoubledQuotes = false
}
