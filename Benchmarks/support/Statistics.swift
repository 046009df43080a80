/// What is told of a series of samples.
package struct Statistics: Equatable {
  package let minimum: Double
  package let lowerQuartile: Double
  package let median: Double
  package let upperQuartile: Double
  package let percentile99: Double

  /// - Precondition: there is at least one sample.
  package init(of samples: [Double]) {
    precondition(!samples.isEmpty, "Statistics: no samples")
    let sorted = samples.sorted()
    minimum = sorted[0]
    lowerQuartile = Self.quantile(0.25, of: sorted)
    median = Self.quantile(0.5, of: sorted)
    upperQuartile = Self.quantile(0.75, of: sorted)
    percentile99 = sorted[Self.nearestRank(percent: 99, of: sorted.count) - 1]
  }

  /// The distance of the quartiles relative to the median: 0.1 says that half of the samples lie
  /// within about 5 % of it. 0 where the median is.
  package var spread: Double { median == 0 ? 0 : (upperQuartile - lowerQuartile) / median }

  /// Between the two samples nearest to the place, by proportion.
  private static func quantile(_ fraction: Double, of sorted: [Double]) -> Double {
    let place = fraction * Double(sorted.count - 1)
    let below = Int(place)
    guard below + 1 < sorted.count else { return sorted[below] }
    return sorted[below] + (sorted[below + 1] - sorted[below]) * (place - Double(below))
  }

  /// The rank, from 1, of the smallest sample that at least `percent` percent do not exceed. With
  /// fewer than a hundred samples the 99th percentile is the largest.
  package static func nearestRank(percent: Int, of count: Int) -> Int {
    max(1, (percent * count + 99) / 100)
  }
}
