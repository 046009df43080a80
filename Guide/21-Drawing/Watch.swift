import Threading

extension DrawingChapter {
  /// Notes which tiles are begun, and holds one of them up until it is told to go on.
  final class Watch: Sendable {
    private let begun = Locked<[Tile]>([])
    private let stop: Int
    private let mayGoOn = CountdownLatch(1)

    /// - Parameter stop: which of the tiles is held up, from 1.
    init(stopAt stop: Int) { self.stop = stop }

    var tiles: [Tile] { begun.withLock { $0 } }

    func willDraw(_ tile: Tile) {
      let count = begun.withLock { begun in
        begun.append(tile)
        return begun.count
      }
      if count == stop { mayGoOn.wait() }
    }

    func waitUntilStopped() {
      _ = begun.withLock(when: { [stop] in $0.count == stop }, for: .seconds(20)) { _ in }
    }

    func goOn() { mayGoOn.countDown() }
  }

  /// The order in which tiles are begun when the view moves from one corner to the other.
  static func moveView() throws -> [Tile] {
    let watch = Watch(stopAt: 3)
    let queue = ThreadOperationQueue(name: "tiles", width: 1)
    let canvas = Canvas(columns: 6, rows: 4, queue: queue, willDraw: { watch.willDraw($0) })
    // snippet: move
    try canvas.draw(Fractal(width: 192), seen: View(columns: 0..<2, rows: 0..<2))
    watch.waitUntilStopped()  // the third tile has been begun
    canvas.look(at: View(columns: 4..<6, rows: 2..<4))
    watch.goOn()
    canvas.waitUntilDrawn()
    // end
    return watch.tiles
  }

  /// How many tiles were begun when all was drawn anew after the third, and whether the picture is right.
  static func zoom() throws -> (begun: Int, isRight: Bool) {
    let watch = Watch(stopAt: 3)
    let queue = ThreadOperationQueue(name: "tiles", width: 1)
    let canvas = Canvas(columns: 6, rows: 4, queue: queue, willDraw: { watch.willDraw($0) })
    let fractal = Fractal(width: 192)
    let all = View(columns: 0..<6, rows: 0..<4)
    // snippet: zoom
    try canvas.draw(fractal, seen: all)
    watch.waitUntilStopped()
    try canvas.draw(fractal.closer(), seen: all)  // cancels what is not done
    watch.goOn()
    canvas.waitUntilDrawn()
    // end
    return (watch.tiles.count, canvas.picture == drawnAlone(fractal.closer(), like: canvas))
  }

  /// The picture as a single loop draws it.
  static func drawnAlone(_ fractal: Fractal, like canvas: Canvas) -> Picture {
    var picture = canvas.picture
    picture.points = (0..<picture.height).flatMap { y in
      (0..<picture.width).map { fractal.shade(x: $0, y: y) }
    }
    return picture
  }
}
