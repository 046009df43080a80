/// What is told of one lock at one number of threads.
struct Row: Codable, Equatable {
  let lock: String
  let threads: Int
  let turns: Int
  let nanoseconds: Double
  let minimumNanoseconds: Double
  let processorNanoseconds: Double
  /// Turns of the most served thread for one of the least served.
  let shareRatio: Double
  let handedPercent: Double
  /// How often a thread slept, or let others run, in a hundred turns.
  let sleepsPercent: Double
  let longestMilliseconds: Double
  let worstMilliseconds: Double
  let starvedMilliseconds: Double
  let worstStarvedMilliseconds: Double

  enum CodingKeys: String, CodingKey, CaseIterable {
    case lock
    case threads
    case turns
    case nanoseconds = "ns"
    case minimumNanoseconds = "min_ns"
    case processorNanoseconds = "cpu_ns"
    case shareRatio = "max/min"
    case handedPercent = "handed_%"
    case sleepsPercent = "sleeps_%"
    case longestMilliseconds = "longest_ms"
    case worstMilliseconds = "worst_ms"
    case starvedMilliseconds = "starved_ms"
    case worstStarvedMilliseconds = "worst_starved_ms"
  }

  /// - Precondition: There is a slice of either kind.
  init(lock: String, threads: Int, slices: [Slice], timed: [Slice]) {
    self.lock = lock
    self.threads = threads
    turns = slices.map(\.total).reduce(0, +)
    let wall = slices.map { Double($0.wall) / Double($0.total) }
    nanoseconds = Self.median(wall)
    minimumNanoseconds = wall.min()!
    processorNanoseconds = Self.median(slices.map { Double($0.processor) / Double($0.total) })
    shareRatio = Self.median(
      slices.map { Double($0.turns.max()!) / Double($0.turns.min()!) })
    handedPercent = Self.median(slices.map { 100 * Double($0.handovers) / Double($0.total) })
    sleepsPercent = Self.median(slices.map { 100 * Double($0.sleeps) / Double($0.total) })
    longestMilliseconds = Self.median(timed.map { Double($0.longest) / 1e6 })
    worstMilliseconds = timed.map { Double($0.longest) / 1e6 }.max()!
    starvedMilliseconds = Self.median(timed.map { Double($0.starved) / 1e6 })
    worstStarvedMilliseconds = timed.map { Double($0.starved) / 1e6 }.max()!
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2)
      ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

extension Slice {
  fileprivate var total: Int { turns.reduce(0, +) }
}
