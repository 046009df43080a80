import Threading

extension DrawingChapter {
  static let solutions = [
    Solution("coarse first, then fine") { page in
      let result = try coarseThenFine(columns: 6, rows: 4, Fractal(width: 192))
      page.claim("all coarse tiles were drawn before any fine one", result.isInOrder)
      page.claim("the fine picture is right", result.isRight)
    },
    Solution("a picture larger than memory") { page in
      let fractal = Fractal(width: 256)
      let (columns, rows) = (8, 6)
      try TemporaryFolder.with { folder in
        let path = "\(folder)/strips.bmp"
        let most = try writeByStrips(fractal, columns: columns, rows: rows, to: path)
        page.claim("never more than two strips of six in memory", most <= 2)
        let canvas = Canvas(columns: columns, rows: rows, queue: ThreadOperationQueue())
        let bitmap = drawnAlone(fractal, like: canvas).bitmap
        page.claim("the file is that of the whole picture", try InputFile.bytes(of: path) == bitmap)
      }
    },
  ]

  /// Draws every 8th point first, so that something is seen soon. Each fine tile waits for its coarse one,
  /// and has less priority than all of them.
  static func coarseThenFine(
    columns: Int, rows: Int, _ fractal: Fractal
  ) throws -> (isInOrder: Bool, isRight: Bool) {
    let canvas = Canvas(columns: columns, rows: rows, queue: ThreadOperationQueue())
    let order = LoopChapter.Log()
    let queue = ThreadOperationQueue(name: "tiles", width: 1)
    queue.suspend()  // until all are there, so that none is early
    var fine: [DrawTile] = []
    for tile in canvas.tiles {
      let coarse = ResultOperation(name: "coarse", priority: .high) {
        order.add("coarse")
        return stride(from: 0, to: Tile.size, by: 8).map { offset in
          fractal.shade(x: tile.xs.lowerBound + offset, y: tile.ys.lowerBound + offset)
        }
      }
      let detail = DrawTile(tile, of: fractal) { _ in order.add("fine") }
      detail.priority = .low
      try detail.addDependency(coarse)
      try queue.add(contentsOf: [coarse, detail])
      fine.append(detail)
    }
    queue.resume()
    queue.waitForAll()
    var picture = canvas.picture
    for detail in fine { picture.put(detail.points, at: detail.tile) }
    let count = columns * rows
    return (
      order.lines == Array(repeating: "coarse", count: count)
        + Array(repeating: "fine", count: count),
      picture == drawnAlone(fractal, like: canvas)
    )
  }

  /// Draws and writes strips of tiles, from the lowest, which stands first in a bitmap file. While one is
  /// written, the next is drawn.
  ///
  /// - Returns: how many strips were in memory at the same time, at most.
  static func writeByStrips(
    _ fractal: Fractal, columns: Int, rows: Int, to path: String
  ) throws -> Int {
    let file = try OutputFile(path: path)
    let width = columns * Tile.size
    try file.write(Picture.bitmapHead(width: width, height: rows * Tile.size))
    let queue = ThreadOperationQueue(name: "tiles")
    func begin(_ row: Int) throws -> [DrawTile] {
      let strip = (0..<columns).map { DrawTile(Tile(column: $0, row: row), of: fractal) { _ in } }
      try queue.add(contentsOf: strip)
      return strip
    }
    var strips = [try begin(rows - 1)]
    var most = 0
    for row in (0..<rows).reversed() {
      if row > 0 { strips.append(try begin(row - 1)) }
      most = max(most, strips.count)
      let strip = strips.removeFirst()
      for tile in strip { tile.wait() }
      for y in (0..<Tile.size).reversed() {
        let points = strip.flatMap { $0.points[y * Tile.size..<(y + 1) * Tile.size] }
        try file.write(Picture.bitmapRow(points))
      }
    }
    try file.finish()
    return most
  }
}
