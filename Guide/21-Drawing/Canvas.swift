import Threading

extension DrawingChapter {
  // snippet: canvas
  /// The picture on the screen. It belongs to the main thread.
  // SAFETY of @unchecked: used on the main thread alone; finished tiles come through `LoopDelegate`.
  final class Canvas: @unchecked Sendable {
    private(set) var picture: Picture
    private var waiting: [Tile: DrawTile] = [:]
    private let queue: ThreadOperationQueue

    /// Draws all tiles, those that are seen first.
    func draw(_ fractal: Fractal, seen view: View) throws {
      for operation in waiting.values { operation.cancel() }
      waiting = [:]
      for tile in tiles {
        let operation = DrawTile(tile, of: fractal, willDraw: willDraw)
        operation.priority = view.contains(tile) ? .high : .low
        operation.addCompletion { [link = LoopDelegate(self)] _ in
          link.tell { $0.put(operation) }
        }
        waiting[tile] = operation
      }
      try queue.add(contentsOf: tiles.compactMap { waiting[$0] })
    }

    /// The view has moved.
    func look(at view: View) {
      for tile in tiles { waiting[tile]?.priority = view.contains(tile) ? .high : .low }
    }

    private func put(_ operation: DrawTile) {
      guard waiting[operation.tile] === operation else { return }  // of an earlier drawing
      waiting[operation.tile] = nil
      picture.put(operation.points, at: operation.tile)
      hasChanged()
    }
    // end

    /// All tiles, row by row.
    let tiles: [Tile]
    private let willDraw: @Sendable (Tile) -> Void
    private let show: (Double) -> Void
    private var isDrawn = ExitFlag()

    /// An empty canvas.
    ///
    /// - Parameters:
    ///   - columns: how many tiles it is wide.
    ///   - rows: how many tiles it is high.
    ///   - queue: what draws.
    ///   - show: told how much is there, from 0 to 1.
    ///   - willDraw: called when a tile is begun, by the thread that draws it.
    init(
      columns: Int, rows: Int, queue: ThreadOperationQueue,
      show: @escaping (Double) -> Void = { _ in },
      willDraw: @escaping @Sendable (Tile) -> Void = { _ in }
    ) {
      tiles = (0..<rows).flatMap { row in
        (0..<columns).map { Tile(column: $0, row: row) }
      }
      let (width, height) = (columns * Tile.size, rows * Tile.size)
      picture = Picture(
        width: width, height: height, points: [UInt8](repeating: 0, count: width * height))
      self.queue = queue
      self.show = show
      self.willDraw = willDraw
    }

    private func hasChanged() {
      show(1 - Double(waiting.count) / Double(tiles.count))
      if waiting.isEmpty { isDrawn.set() }
    }

    /// Serves the main thread's loop until all tiles are there.
    func waitUntilDrawn() {
      if waiting.isEmpty { return }
      isDrawn = ExitFlag()
      ThreadRunLoop.main.run(until: isDrawn)
    }
  }
}

extension Picture {
  /// Puts the points of a tile where they belong.
  mutating func put(_ points: [UInt8], at tile: DrawingChapter.Tile) {
    let size = DrawingChapter.Tile.size
    for (index, y) in tile.ys.enumerated() {
      let start = y * width + tile.xs.lowerBound
      self.points.replaceSubrange(
        start..<start + size, with: points[index * size..<(index + 1) * size])
    }
  }
}
