import BenchmarkSupport

/// A line of the report: what one implementation of one workload took.
struct Row: Codable, Equatable, Sendable {
  let workload: String
  let implementation: String
  /// What the values are: nanoseconds, bytes or wake-ups an item.
  let unit: Quantity
  let threads: Int
  /// Items in one sample.
  let items: Int
  let median: Double
  let minimum: Double
  let percentile99: Double
  /// The distance of the quartiles relative to the median.
  let spread: Double
  /// Processor time of the process, nanoseconds an item, median of the samples.
  let cpuNanoseconds: Double
  /// Times a thread gave up or lost its processor, an item, mean of the samples.
  let switches: Double
  /// How many times as much as `ours`, median over the rounds; nil where the workload has no
  /// `ours`, or where nothing is all that ours needs.
  let ratioToOurs: Double?
  /// The quartiles of the ratios of the rounds.
  let ratioLowerQuartile: Double?
  let ratioUpperQuartile: Double?
  /// The value of each sample.
  let samples: [Double]

  enum CodingKeys: String, CodingKey, CaseIterable {
    case workload
    case implementation
    case unit
    case threads
    case items
    case median
    case minimum = "min"
    case percentile99 = "p99"
    case spread
    case cpuNanoseconds = "cpu_ns"
    case switches
    case ratioToOurs = "ratio_to_ours"
    case ratioLowerQuartile = "ratio_q1"
    case ratioUpperQuartile = "ratio_q3"
    case samples
  }

  /// Names of the columns, in their order.
  static var columns: [String] { CodingKeys.allCases.map(\.rawValue) }

  init(
    of implementation: Implementation, in workload: Workload, items: Int, samples: [Sample],
    comparedTo ours: [Sample]?
  ) {
    self.workload = workload.name
    self.implementation = implementation.name
    unit = workload.unit
    threads = workload.threads
    self.items = items
    self.samples = samples.map(\.value)
    let statistics = Statistics(of: self.samples)
    median = statistics.median
    minimum = statistics.minimum
    percentile99 = statistics.percentile99
    spread = statistics.spread
    cpuNanoseconds = Statistics(of: samples.map(\.cpuNanoseconds)).median
    switches = samples.map(\.switches).reduce(0, +) / Double(samples.count)
    let ratios = ours.flatMap { Self.ratios(of: samples, to: $0) }.map(Statistics.init)
    ratioToOurs = ratios?.median
    ratioLowerQuartile = ratios?.lowerQuartile
    ratioUpperQuartile = ratios?.upperQuartile
  }

  /// Both values of a round may be 0: a batch can be too small for the clock, or need no memory. If
  /// ours alone is, no number tells how many times as much the other is.
  private static func ratios(of samples: [Sample], to ours: [Sample]) -> [Double]? {
    let pairs = zip(samples, ours).map { ($0.value, $1.value) }
    guard pairs.allSatisfy({ $0 == $1 || $1 != 0 }) else { return nil }
    return pairs.map { $0 == $1 ? 1 : $0 / $1 }
  }

  /// A ratio of quartiles above which the machine was too noisy to conclude.
  static let noisyRange = 1.3
  /// With fewer samples, quartiles tell nothing.
  static let fewestForNoise = 5

  /// Whether the samples differ too much to conclude from them: half of the ratios lie further
  /// apart than a factor of ``noisyRange``; without ratios, half of the values.
  var isNoisy: Bool {
    guard samples.count >= Self.fewestForNoise else { return false }
    if let low = ratioLowerQuartile, let high = ratioUpperQuartile {
      return high > low * Self.noisyRange
    }
    let statistics = Statistics(of: samples)
    return statistics.upperQuartile > statistics.lowerQuartile * Self.noisyRange
  }

  /// Writes all columns, the ratios as null where there are none, so that rows have one shape.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(workload, forKey: .workload)
    try container.encode(implementation, forKey: .implementation)
    try container.encode(unit, forKey: .unit)
    try container.encode(threads, forKey: .threads)
    try container.encode(items, forKey: .items)
    try container.encode(median, forKey: .median)
    try container.encode(minimum, forKey: .minimum)
    try container.encode(percentile99, forKey: .percentile99)
    try container.encode(spread, forKey: .spread)
    try container.encode(cpuNanoseconds, forKey: .cpuNanoseconds)
    try container.encode(switches, forKey: .switches)
    try container.encode(ratioToOurs, forKey: .ratioToOurs)
    try container.encode(ratioLowerQuartile, forKey: .ratioLowerQuartile)
    try container.encode(ratioUpperQuartile, forKey: .ratioUpperQuartile)
    try container.encode(samples, forKey: .samples)
  }
}
