/// The values of one row, in the order of its table's columns.
///
/// One `FeedRow` serves a whole import: its two arrays keep their memory from row to row.
struct FeedRow {
  /// The bytes of all its texts, one behind the other.
  var bytes: [UInt8] = []
  var values: [FeedValue] = []
}
