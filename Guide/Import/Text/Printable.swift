/// Text of unknown origin, made fit for a message: quoted, short, and without the control characters
/// with which a file could move the cursor of a terminal or recolour it.
struct Printable: CustomStringConvertible {
  static let longest = 40

  let description: String

  init(_ text: some StringProtocol) {
    var shown = "\""
    for scalar in text.unicodeScalars.prefix(Self.longest) {
      let isControl = scalar.properties.generalCategory == .control
      shown += isControl || scalar == "\"" ? scalar.escaped(asASCII: true) : String(scalar)
    }
    description = shown + (text.unicodeScalars.count > Self.longest ? "\"..." : "\"")
  }
}

extension Printable {
  /// Text of unknown origin on one line without quotes, cut at a width.
  static func plain(_ text: String, width: Int) -> String {
    let line = text.map { character in
      let isControl = character.unicodeScalars.contains {
        $0.properties.generalCategory == .control
      }
      return isControl ? " " : String(character)
    }.joined()
    return line.count > width ? line.prefix(width - 1) + "…" : line
  }

  /// A byte as people write it: `0xE9`.
  static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "0x" + (digits.count < 2 ? "0" : "") + digits
  }
}
