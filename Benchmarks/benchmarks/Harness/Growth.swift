import BenchmarkSupport
import Foundation

/// How what an implementation takes grows with the number of items.
struct Growth: Codable, Equatable, Sendable {
  struct Point: Codable, Equatable, Sendable {
    let items: Int
    /// What an item took, median of the samples.
    let value: Double
  }

  let workload: String
  let implementation: String
  let unit: Quantity
  /// One for each size that was measured, smallest first.
  let points: [Point]
  /// The power of the number of items that the time for all of them grows with: 1 says that each
  /// takes the same however many there are, 2 that twice as many take four times as long.
  let exponent: Double?

  init(workload: String, implementation: String, unit: Quantity, points: [Point]) {
    self.workload = workload
    self.implementation = implementation
    self.unit = unit
    self.points = points
    exponent = Self.slope(
      of: points.filter { $0.value > 0 }.map {
        (log(Double($0.items)), log(Double($0.items) * $0.value))
      })
  }

  enum CodingKeys: String, CodingKey {
    case workload
    case implementation
    case unit
    case points
    case exponent
  }

  /// The slope of the line with the least squares of the distances in y; nil for fewer than two
  /// different x.
  static func slope(of points: [(x: Double, y: Double)]) -> Double? {
    let count = Double(points.count)
    guard count > 1 else { return nil }
    let meanX = points.map(\.x).reduce(0, +) / count
    let meanY = points.map(\.y).reduce(0, +) / count
    let squares = points.map { ($0.x - meanX) * ($0.x - meanX) }.reduce(0, +)
    guard squares > 0 else { return nil }
    return points.map { ($0.x - meanX) * ($0.y - meanY) }.reduce(0, +) / squares
  }
}
