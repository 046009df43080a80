/// The text of an option's value as what it stands for; nil where it stands for nothing allowed.
package enum OptionValues {
  /// A whole number of digits only: `Int("+5")` is 5.
  package static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text),
      range.contains(number)
    else { return nil }
    return number
  }

  /// A number of digits and at most one point.
  package static func number(_ text: String, in range: ClosedRange<Double>) -> Double? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
      let number = Double(text), range.contains(number)
    else { return nil }
    return number
  }

  /// Whole numbers with commas between them, each once.
  package static func numbers(_ text: String, in range: ClosedRange<Int>) -> [Int]? {
    let all = list(text).map { number($0, in: range) }
    let known = all.compactMap(\.self)
    return known.count == all.count && Set(known).count == known.count ? known : nil
  }

  /// Puts a value in its place, if there is one.
  ///
  /// - Returns: whether there is.
  package static func set<Value>(_ place: inout Value, _ value: Value?) -> Bool {
    guard let value else { return false }
    place = value
    return true
  }

  /// The same for a place that may be empty.
  ///
  /// - Returns: whether there is a value.
  package static func set<Value>(_ place: inout Value?, _ value: Value?) -> Bool {
    guard let value else { return false }
    place = value
    return true
  }

  /// What stands between the commas.
  package static func list(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  }
}
