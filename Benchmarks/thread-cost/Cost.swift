import BenchmarkSupport

/// One line of the table: what is measured, for each kind of thread.
struct Cost: Equatable {
  /// What is measured.
  let name: String
  let unit: Quantity
  /// By the name of the kind; a kind that it cannot be told of is not in it.
  let values: [String: Statistics]
}
