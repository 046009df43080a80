import Threading

extension DrawingChapter {
  /// A part of the plane, whose points are to be drawn: the Mandelbrot set, the costliest where it is
  /// darkest.
  struct Fractal: Sendable {
    /// The corner at the upper left, and how far points are from each other.
    var left = -2.2
    var top = -1.2
    var step: Double

    /// The whole set, so many points wide.
    init(width: Int) { step = 3.2 / Double(width) }

    private static let mostSteps = 64

    /// How bright a point is.
    func shade(x: Int, y: Int) -> UInt8 {
      let (a, b) = (left + step * Double(x), top + step * Double(y))
      var (u, v) = (0.0, 0.0)
      for count in 0..<Self.mostSteps {
        (u, v) = (u * u - v * v + a, 2 * u * v + b)
        if u * u + v * v > 4 { return UInt8(255 - count * 192 / Self.mostSteps) }
      }
      return 0
    }

    /// A part of this part, twice as close.
    func closer() -> Fractal {
      var closer = self
      closer.left += 0.6
      closer.top += 0.5
      closer.step /= 2
      return closer
    }
  }

  /// A square of the picture.
  struct Tile: Hashable, Sendable {
    let column: Int
    let row: Int

    static let size = 32

    var xs: Range<Int> { column * Self.size..<(column + 1) * Self.size }
    var ys: Range<Int> { row * Self.size..<(row + 1) * Self.size }
  }

  /// Some columns and rows of tiles: what is seen.
  struct View: Equatable, Sendable {
    var columns: Range<Int>
    var rows: Range<Int>

    func contains(_ tile: Tile) -> Bool {
      columns.contains(tile.column) && rows.contains(tile.row)
    }
  }
}
