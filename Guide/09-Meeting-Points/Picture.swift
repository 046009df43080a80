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

  /// Writes it as a bitmap file.
  ///
  /// - Throws: `FileError` if it cannot be written.
  func write(to path: String) throws(FileError) {
    let file = try OutputFile(path: path, replaces: true)
    try file.write(bitmap)
    try file.finish()
  }

  /// The bytes of a file in the format BMP: 24 bits a point, rows from the bottom.
  var bitmap: [UInt8] {
    (0..<height).reversed().reduce(into: Self.bitmapHead(width: width, height: height)) {
      $0 += Self.bitmapRow(points[$1 * width..<($1 + 1) * width])
    }
  }

  /// What such a file begins with.
  static func bitmapHead(width: Int, height: Int) -> [UInt8] {
    let rowLength = (width * 3 + 3) / 4 * 4
    let size = 54 + rowLength * height
    func little(_ number: Int, _ bytes: Int) -> [UInt8] {
      (0..<bytes).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    var file = Array("BM".utf8) + little(size, 4) + little(0, 4) + little(54, 4)
    file += little(40, 4) + little(width, 4) + little(height, 4) + little(1, 2) + little(24, 2)
    file += little(0, 4) + little(rowLength * height, 4) + little(2_835, 4) + little(2_835, 4)
    return file + little(0, 8)
  }

  /// A row of points in such a file.
  static func bitmapRow(_ points: some Collection<UInt8>) -> [UInt8] {
    let row = points.flatMap { [$0, $0, $0] }
    return row + [UInt8](repeating: 0, count: (row.count + 3) / 4 * 4 - row.count)
  }
}
