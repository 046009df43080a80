/// One value of a row, ready for the database.
enum FeedValue: Equatable, Sendable {
  /// An empty field, or a column that the file does not have.
  case null
  case integer(Int64)
  case decimal(Double)

  /// Text, as a range of the bytes of its ``FeedRow``.
  case text(Range<Int>)
}
