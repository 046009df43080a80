/// Text of unknown origin, made fit for a message: quoted, short, and without the characters with
/// which a file could move the cursor of a terminal, recolour it, or have text read in another order.
struct Printable: CustomStringConvertible {
  static let longest = 40

  let description: String

  init(_ text: some StringProtocol) {
    var shown = "\""
    for scalar in text.unicodeScalars.prefix(Self.longest) {
      let isShown = Self.isShown(scalar) && scalar != "\""
      shown += isShown ? String(scalar) : scalar.escaped(asASCII: true)
    }
    description = shown + (text.unicodeScalars.count > Self.longest ? "\"..." : "\"")
  }
}

extension Printable {
  /// A line of text, part of which may be of unknown origin, such as a message with the name of a file:
  /// whole, and as it is but for such characters.
  static func line(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") {
      $0 += isShown($1) ? String($1) : $1.escaped(asASCII: true)
    }
  }

  /// Text of unknown origin on one line without quotes, cut at a width.
  static func plain(_ text: String, width: Int) -> String {
    // One character can consist of any number of scalars.
    let start = String(text.unicodeScalars.prefix(4 * width))
    let line = start.map { character in
      character.unicodeScalars.allSatisfy(isShown) ? String(character) : " "
    }.joined()
    return line.count > width ? line.prefix(width - 1) + "…" : line
  }

  /// Whether a scalar is a mark on the screen, or goes into one, and does nothing else.
  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isBidiControl || scalar == "\u{FEFF}" { return false }
    switch scalar.properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: return false
    default: return true
    }
  }

  /// A byte as people write it: `0xE9`.
  static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "0x" + (digits.count < 2 ? "0" : "") + digits
  }
}
