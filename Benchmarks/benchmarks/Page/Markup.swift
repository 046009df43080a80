import BenchmarkSupport

/// Pieces of HTML and SVG as text.
enum Markup {
  /// Text with the characters escaped that mean something in HTML.
  static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
    return result
  }

  /// A place in a picture, as a share of its width or height: pictures are as wide as the page
  /// allows, and circles in them stay round, since nothing but the places is stretched.
  static func percent(_ share: Double) -> String {
    Figures.fixed(share * 100, decimals: 2) + "%"
  }

  static func line(
    from start: (x: Double, y: Double), to end: (x: Double, y: Double), _ style: String
  ) -> String {
    "<line class=\"\(style)\" x1=\"\(percent(start.x))\" y1=\"\(percent(start.y))\" "
      + "x2=\"\(percent(end.x))\" y2=\"\(percent(end.y))\"/>"
  }

  static func box(
    x: Double, width: Double, y: Double, height: Double, _ style: String
  ) -> String {
    "<rect class=\"\(style)\" x=\"\(percent(x))\" width=\"\(percent(max(0, width)))\" "
      + "y=\"\(percent(y))\" height=\"\(percent(height))\"/>"
  }

  static func dot(x: Double, y: Double, radius: Double, _ style: String, title: String) -> String {
    "<circle class=\"\(style)\" cx=\"\(percent(x))\" cy=\"\(percent(y))\" r=\"\(radius)\">"
      + "<title>\(escaped(title))</title></circle>"
  }

  static func label(_ text: String, x: Double, y: Double, anchor: String) -> String {
    "<text x=\"\(percent(x))\" y=\"\(percent(y))\" text-anchor=\"\(anchor)\">"
      + "\(escaped(text))</text>"
  }

  /// A picture of the given height in pixels, with a description for those who do not see it.
  static func picture(_ style: String, height: Int, describing text: String, _ content: String)
    -> String
  {
    "<svg class=\"\(style)\" width=\"100%\" height=\"\(height)\" role=\"img\" "
      + "aria-label=\"\(escaped(text))\">\(content)</svg>"
  }
}
