/// How thoroughly to measure.
struct Plan: Sendable, Equatable {
  /// Samples of each implementation.
  var samples: Int
  /// The shortest batch that is taken as a sample, in nanoseconds.
  var shortestBatch: Int64
  /// The most items in a round of fixed size.
  var largestRound: Int
  /// Batches before the first sample, whose time is thrown away.
  var warmUps: Int
  /// With growing numbers of items, the longest batch worth waiting for, in nanoseconds.
  var longestBatch: Int64 = 5_000_000_000

  /// What the program does when it is asked for figures.
  static func measuring(samples: Int) -> Plan {
    Plan(samples: samples, shortestBatch: 10_000_000, largestRound: .max, warmUps: 1)
  }

  /// Short batches: enough to see a factor, not to see a tenth.
  static func quick(samples: Int) -> Plan {
    Plan(
      samples: samples, shortestBatch: 2_000_000, largestRound: 10_000, warmUps: 1,
      longestBatch: 500_000_000)
  }

  /// Every workload once, as small as it can be.
  static let smoke = Plan(samples: 1, shortestBatch: 0, largestRound: 100, warmUps: 0)
}
