import Threading

extension DrawingChapter {
  // snippet: tile
  /// Draws a tile.
  final class DrawTile: ThreadOperation, @unchecked Sendable {
    let tile: Tile
    private let fractal: Fractal
    private let willDraw: @Sendable (Tile) -> Void
    // SAFETY: written by `main()`, read when the operation has finished.
    private(set) var points: [UInt8] = []

    init(_ tile: Tile, of fractal: Fractal, willDraw: @escaping @Sendable (Tile) -> Void) {
      self.tile = tile
      self.fractal = fractal
      self.willDraw = willDraw
      super.init(name: "tile \(tile.column), \(tile.row)")
    }

    override func main() {
      willDraw(tile)
      for y in tile.ys {
        if isCancelled { return }
        for x in tile.xs { points.append(fractal.shade(x: x, y: y)) }
      }
    }
  }
  // end
}
