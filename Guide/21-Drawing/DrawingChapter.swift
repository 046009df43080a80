import Threading

/// Drawing in the background. `README.md` beside this file explains it.
enum DrawingChapter: Chapter {
  static let number = 21
  static let name = "drawing"
  static let title = "Drawing in the background"
  static let folder = "21-Drawing"
  static let word: String? = "FILE"

  static func run(on page: Page) throws { try run(with: ChapterInput(), on: page) }

  static func run(with input: ChapterInput, on page: Page) throws {
    let file = try input.word ?? TemporaryFolder.kept("tiles.bmp")
    try checkName(of: file)

    page.section("The view moves")
    let order = try moveView()
    for line in map(order, columns: 6, rows: 4) { page.say(line) }
    page.claim(
      "three tiles of the first view, then the four of the second",
      order.prefix(7).map { [$0.column, $0.row] }
        == [[0, 0], [1, 0], [0, 1], [4, 2], [5, 2], [4, 3], [5, 3]])
    page.claim("then all others, each once", order.count == 24 && Set(order).count == 24)

    page.section("The view is drawn anew")
    let zoomed = try zoom()
    page.claim("of the first drawing, three tiles were begun and 21 never", zoomed.begun == 3 + 24)
    page.claim("no tile of it got into the second", zoomed.isRight)

    page.section("A large picture")
    let fractal = Fractal(width: 512)
    let canvas = Canvas(
      columns: 16, rows: 12, queue: ThreadOperationQueue(name: "tiles"),
      show: { page.live(Bars.text([$0], width: 40)) })
    try canvas.draw(fractal, seen: View(columns: 4..<12, rows: 3..<9))
    canvas.waitUntilDrawn()
    for line in sketch(canvas.picture) { page.say(line) }
    page.claim(
      "192 tiles make the picture that one loop draws",
      canvas.picture == drawnAlone(fractal, like: canvas))
    try canvas.picture.write(to: file)
    page.figure("look at it", file)
  }

  /// Refuses what could not become a picture before it is drawn.
  private static func checkName(of file: String) throws {
    try OutputFile.refuseOtherKinds(file)
    guard file.lowercased().hasSuffix(".bmp") else {
      throw ChapterFailure(
        "the picture is a bitmap, and \(Printable(file)) is no name for one: it must end in .bmp",
        .usage)
    }
  }

  /// Where each tile stands in the order of drawing.
  private static func map(_ order: [Tile], columns: Int, rows: Int) -> [String] {
    (0..<rows).map { row in
      (0..<columns).map { column in
        let index = order.firstIndex(of: Tile(column: column, row: row))
        return Figures.padded(index.map { "\($0 + 1)" } ?? "-", to: 3, right: true)
      }.joined()
    }
  }

  /// A picture in a few characters.
  private static func sketch(_ picture: Picture) -> [String] {
    let shades = Array("@#+:. ")
    return stride(from: 36, to: picture.height - 24, by: 24).map { y in
      let line = stride(from: 4, to: picture.width, by: 8).map { x in
        shades[Int(picture.points[y * picture.width + x]) * shades.count / 256]
      }
      return String(line[...(line.lastIndex { $0 != " " } ?? 0)])
    }
  }
}
