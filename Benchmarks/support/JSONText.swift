import Foundation

/// Values as JSON, the same way in all programs: indented, with sorted keys.
package enum JSONText {
  /// The text of a value, with a line end after its last line.
  ///
  /// - Precondition: its numbers are finite, as JSON has no others.
  package static func of(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    } catch {
      fatalError("JSONText.of: \(error)")
    }
  }
}
