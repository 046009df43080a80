import Foundation

/// Numbers as text, the same in every locale.
enum Figures {
  /// A number with a fixed count of decimals and no grouping: `1234.50`.
  static func fixed(_ value: Double, decimals: Int) -> String {
    String(format: "%.\(decimals)f", value)
  }

  /// A whole number in groups of three: `1,234,567`.
  static func grouped(_ value: Int) -> String {
    var digits = Array(String(value.magnitude))
    var position = digits.count - 3
    while position > 0 {
      digits.insert(",", at: position)
      position -= 3
    }
    return (value < 0 ? "-" : "") + String(digits)
  }

  /// A time in as many decimals as can matter: two below 10, one below 100, then none.
  static func forPeople(_ value: Double) -> String {
    if value < 9.995 { return fixed(value, decimals: 2) }
    if value < 99.95 { return fixed(value, decimals: 1) }
    return grouped(Int(value.rounded()))
  }
}
