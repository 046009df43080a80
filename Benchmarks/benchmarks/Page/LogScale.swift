import Foundation

/// Values on a logarithmic scale, as shares of its length.
struct LogScale: Equatable {
  let lowest: Double
  let highest: Double

  /// - Precondition: both are above 0, and they differ.
  init(from lowest: Double, to highest: Double) {
    precondition(lowest > 0 && highest > lowest, "LogScale: from \(lowest) to \(highest)")
    self.lowest = lowest
    self.highest = highest
  }

  /// One around the values, with room on both sides; values of 0 or below have no place on it.
  init(around values: [Double], room: Double = 1.1) {
    let known = values.filter { $0 > 0 }
    let low = known.min() ?? 1
    self.init(from: low / room, to: max(known.max() ?? 1, low) * room)
  }

  /// 0 at the lowest, 1 at the highest; values outside are at the ends.
  func place(of value: Double) -> Double {
    guard value > lowest else { return 0 }
    return min(1, log(value / lowest) / log(highest / lowest))
  }

  func contains(_ value: Double) -> Bool { (lowest...highest).contains(value) }

  /// 1, 2 and 5 times powers of ten, as many as there is room for: all of them, or only the powers.
  func ticks(atMost count: Int) -> [Double] {
    let exponents = Int(log10(lowest).rounded(.down))...Int(log10(highest).rounded(.up))
    for steps in [[1.0, 2, 5], [1.0, 3], [1.0]] {
      let all = exponents.flatMap { exponent in steps.map { $0 * pow(10, Double(exponent)) } }
        .filter(contains)
      if all.count <= count { return all }
    }
    let powers = exponents.map { pow(10, Double($0)) }.filter(contains)
    let stride = (powers.count + count - 1) / max(1, count)
    return powers.enumerated().filter { $0.offset % stride == 0 }.map(\.element)
  }
}
