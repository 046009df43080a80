/// Shows how far an import has come: a bar that is drawn over on a terminal, plain lines elsewhere.
struct ProgressDisplay {
  private static let barWidth = 30

  /// A line is printed each time that so many more percent are done.
  private static let lineStep = 10

  private let console: Console
  private var file = ""
  private var percent = 0
  private var barIsShown = false

  /// A display that shows nothing yet.
  init(_ console: Console) {
    self.console = console
  }

  /// A file is begun.
  mutating func start(file: String) {
    self.file = file
    if console.isTerminal { drawBar() }
  }

  /// So much of the feed is read.
  ///
  /// - Parameters:
  ///   - percent: of all files.
  ///   - rows: how many rows are in the view.
  mutating func advance(to percent: Int, rows: Int) {
    let isNewStep = percent / Self.lineStep > self.percent / Self.lineStep
    self.percent = percent
    if console.isTerminal {
      drawBar()
    } else if isNewStep {
      let rows = Figures.grouped(rows)
      console.print("progress: \(percent)% (\(file), \(rows) new or changed rows)\n")
    }
  }

  /// Prints a line beside the progress.
  mutating func note(_ text: String) {
    eraseBar()
    console.print("note: \(text)\n")
    if console.isTerminal { drawBar() }
  }

  /// Prints a problem.
  mutating func problem(_ problem: FileProblem) {
    eraseBar()
    console.printError("\(problem)\n")
    if console.isTerminal { drawBar() }
  }

  /// Makes room for other lines.
  mutating func eraseBar() {
    if barIsShown { console.print("\r\u{1B}[K") }
    barIsShown = false
  }

  private mutating func drawBar() {
    let done = percent * Self.barWidth / 100
    let bar =
      String(repeating: "#", count: done) + String(repeating: ".", count: Self.barWidth - done)
    console.print("\r[\(bar)] \(percent)% \(file)\u{1B}[K")
    barIsShown = true
  }
}
