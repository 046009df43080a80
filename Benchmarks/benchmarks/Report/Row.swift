/// A line of the report: what one implementation of one workload took.
struct Row: Codable, Equatable, Sendable {
  let workload: String
  let implementation: String
  let threads: Int
  /// Items in one sample.
  let items: Int
  let medianNanoseconds: Double
  let minimumNanoseconds: Double
  let percentile99Nanoseconds: Double
  /// How many times as long as `ours`; nil where the workload has no `ours`.
  let ratioToOurs: Double?

  enum CodingKeys: String, CodingKey, CaseIterable {
    case workload
    case implementation
    case threads
    case items
    case medianNanoseconds = "median_ns"
    case minimumNanoseconds = "min_ns"
    case percentile99Nanoseconds = "p99_ns"
    case ratioToOurs = "ratio_to_ours"
  }

  /// Names of the columns, in their order.
  static var columns: [String] { CodingKeys.allCases.map(\.rawValue) }

  /// Writes all columns, the ratio as null where there is none, so that rows have one shape.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(workload, forKey: .workload)
    try container.encode(implementation, forKey: .implementation)
    try container.encode(threads, forKey: .threads)
    try container.encode(items, forKey: .items)
    try container.encode(medianNanoseconds, forKey: .medianNanoseconds)
    try container.encode(minimumNanoseconds, forKey: .minimumNanoseconds)
    try container.encode(percentile99Nanoseconds, forKey: .percentile99Nanoseconds)
    try container.encode(ratioToOurs, forKey: .ratioToOurs)
  }
}
