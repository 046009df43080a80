/// What is told of a series of samples.
struct Statistics: Equatable {
  let median: Double
  let minimum: Double
  let percentile99: Double

  /// - Precondition: there is at least one sample.
  init(of samples: [Double]) {
    precondition(!samples.isEmpty, "Statistics: no samples")
    let sorted = samples.sorted()
    let middle = sorted.count / 2
    median =
      sorted.count.isMultiple(of: 2)
      ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    minimum = sorted[0]
    percentile99 = sorted[Self.nearestRank(percent: 99, of: sorted.count) - 1]
  }

  /// The rank, from 1, of the smallest sample that at least `percent` percent do not exceed. With
  /// fewer than a hundred samples the 99th percentile is the largest.
  static func nearestRank(percent: Int, of count: Int) -> Int {
    max(1, (percent * count + 99) / 100)
  }
}
