/// How far several things are, as bars for a line that is drawn over.
enum Bars {
  /// A bar for each part, from 0 to 1.
  static func text(_ parts: [Double], width: Int = 20) -> String {
    parts.map { part in
      let filled = Int((min(1, max(0, part)) * Double(width)).rounded())
      return "[" + String(repeating: "#", count: filled)
        + String(repeating: " ", count: width - filled) + "]"
    }.joined(separator: " ")
  }
}
