import Foundation

extension TableChapter {
  /// A small picture, as text: a character for each point of its lowest row.
  struct Thumbnail: Equatable, Sendable {
    let text: String

    static let width = 8

    /// Reads a bitmap file of the kind that `Picture` writes.
    ///
    /// - Throws: `ChapterFailure` if it is another kind.
    init(_ file: Data) throws(ChapterFailure) {
      let bytes = Array(file)
      guard bytes.count >= 54 + Self.width * 3, bytes.starts(with: "BM".utf8), bytes[28] == 24
      else {
        throw ChapterFailure("a picture is not a bitmap of 24 bits a point", .badData)
      }
      let shades = Array(" .:+#@")
      text = String((0..<Self.width).map { shades[Int(bytes[54 + $0 * 3]) * shades.count / 256] })
    }

    /// The picture of a row, made up: a wave that moves from row to row.
    static func file(_ number: Int) -> [UInt8] {
      let points = (0..<width).map { UInt8(min(255, abs(($0 * 3 + number * 5) % 16 - 8) * 32)) }
      return Picture(width: width, height: 1, points: points).bitmap
    }
  }
}
