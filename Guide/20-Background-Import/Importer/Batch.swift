/// The records of one transaction, as the importing thread tells the main thread of them: by id.
struct Batch: Equatable, Sendable {
  /// The number that the database knows the batch by.
  let number: Int64
  let table: String

  /// The ids of the rows that were not there before.
  var inserted: [Int64] = []

  /// The ids of the rows that are other than before.
  var updated: [Int64] = []
}
