import Foundation

/// A picture of grey points.
struct Picture: Equatable, Sendable {
  let width: Int
  let height: Int

  /// A byte for each point, row by row from the top.
  var points: [UInt8]

  /// Discs and stripes, always the same.
  static func drawn(width: Int, height: Int) -> Picture {
    var points: [UInt8] = []
    for y in 0..<height {
      for x in 0..<width {
        let (across, down) = (x % 80 - 40, y % 80 - 40)
        let isDisc = across * across + down * down < 900
        points.append(isDisc ? 230 : (x + y) / 8 % 2 == 0 ? 40 : 120)
      }
    }
    return Picture(width: width, height: height, points: points)
  }

  /// Writes it as a bitmap file into the folder for temporary files.
  ///
  /// - Returns: where it is.
  /// - Throws: `FileError` if it cannot be written.
  func write(named name: String) throws(FileError) -> String {
    let path = NSTemporaryDirectory() + name
    let file = try OutputFile(path: path, replaces: true)
    try file.write(bitmap)
    try file.flush()
    return path
  }

  /// The bytes of a file in the format BMP: 24 bits a point, rows from the bottom.
  private var bitmap: [UInt8] {
    let rowLength = (width * 3 + 3) / 4 * 4
    let size = 54 + rowLength * height
    func little(_ number: Int, _ bytes: Int) -> [UInt8] {
      (0..<bytes).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    var file = Array("BM".utf8) + little(size, 4) + little(0, 4) + little(54, 4)
    file += little(40, 4) + little(width, 4) + little(height, 4) + little(1, 2) + little(24, 2)
    file += little(0, 4) + little(rowLength * height, 4) + little(2_835, 4) + little(2_835, 4)
    file += little(0, 8)
    for y in (0..<height).reversed() {
      let row = points[y * width..<(y + 1) * width].flatMap { [$0, $0, $0] }
      file += row + [UInt8](repeating: 0, count: rowLength - row.count)
    }
    return file
  }
}
