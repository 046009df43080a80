/// Numbers as people read them.
enum Figures {
  /// A whole number with a comma before each three digits: `1,234,567`.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0 && (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }

  /// A number with one digit behind the point.
  static func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return "\(grouped(tenths / 10)).\(abs(tenths % 10))"
  }

  /// Milliseconds of a duration.
  static func milliseconds(_ duration: Duration) -> String {
    "\(tenths(duration / .milliseconds(1))) ms"
  }

  /// A time of the service day: `25:10`.
  static func clock(_ seconds: Int64) -> String {
    let minutes = seconds / 60 % 60
    return "\(seconds / 3_600):\(minutes < 10 ? "0" : "")\(minutes)"
  }

  /// Text with blanks behind it up to a width, or before it.
  static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
    let blanks = String(repeating: " ", count: max(0, width - text.count))
    return right ? blanks + text : text + blanks
  }
}
