import Foundation

/// Numbers as text, the same in every locale.
package enum Figures {
  /// A number with a fixed count of decimals and no grouping: `1234.50`.
  package static func fixed(_ value: Double, decimals: Int) -> String {
    String(format: "%.\(decimals)f", value)
  }

  /// A whole number in groups of three: `1,234,567`.
  package static func grouped(_ value: Int) -> String {
    var digits = Array(String(value.magnitude))
    var position = digits.count - 3
    while position > 0 {
      digits.insert(",", at: position)
      position -= 3
    }
    return (value < 0 ? "-" : "") + String(digits)
  }

  /// A time in as many decimals as can matter: two below 10, one below 100, then none.
  package static func forPeople(_ value: Double) -> String {
    if value < 9.995 { return fixed(value, decimals: 2) }
    if value < 99.95 { return fixed(value, decimals: 1) }
    return grouped(Int(value.rounded()))
  }

  /// A count in at most five characters: `318`, `67.6k`, `1.21M`.
  package static func compact(_ value: Int) -> String {
    for (size, letter) in [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")]
    where value >= size {
      let scaled = Double(value) / Double(size)
      let decimals = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0
      return trimmed(fixed(scaled, decimals: decimals)) + letter
    }
    return String(value)
  }

  /// Without zeros at the end of the decimals.
  package static func trimmed(_ text: String) -> String {
    guard text.contains(".") else { return text }
    var text = text[...]
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return String(text)
  }

  /// A share in whole percent: `7%`.
  package static func percent(_ value: Double) -> String { fixed(value * 100, decimals: 0) + "%" }

  /// A value with its unit, in three digits: `9.53 ns`, `18.1 µs`, `1.02 KiB`.
  package static func amount(_ value: Double, _ unit: Quantity) -> String {
    if unit == .wakeUps { return forPeople(value) + " wake-ups" }
    let (step, names) =
      unit == .bytes ? (1_024.0, ["B", "KiB", "MiB", "GiB"]) : (1_000.0, ["ns", "µs", "ms", "s"])
    var value = value
    var index = 0
    while value >= step * 0.9995, index + 1 < names.count {
      value /= step
      index += 1
    }
    return forPeople(value) + " " + names[index]
  }
}
