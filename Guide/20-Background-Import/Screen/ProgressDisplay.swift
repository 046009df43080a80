/// Shows how far an import has come: a bar that is drawn over on a terminal, plain lines elsewhere.
struct ProgressDisplay {
  private static let barWidth = 30

  /// A bar that is shorter than this says little.
  private static let shortestBar = 5

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
      console.say("progress: \(percent)% (\(file), \(rows) new or changed rows)")
    }
  }

  /// Prints a line beside the progress.
  mutating func note(_ text: String) {
    eraseBar()
    console.say("note: \(text)")
    if console.isTerminal { drawBar() }
  }

  /// Prints a problem.
  mutating func problem(_ problem: FileProblem) {
    eraseBar()
    console.complain("\(problem)")
    if console.isTerminal { drawBar() }
  }

  /// Makes room for other lines.
  mutating func eraseBar() {
    if barIsShown { console.print("\r\u{1B}[K") }
    barIsShown = false
  }

  /// Draws the bar over the last one. While the terminal takes nothing it is left out: the next one
  /// says more, and the run loop has better things to do than to wait.
  private mutating func drawBar() {
    guard console.isReady() else { return }
    console.print("\r\(bar(within: console.columns() - 1))\u{1B}[K")
    barIsShown = true
  }

  /// The bar, cut to a width. A line that is broken by the terminal could not be drawn over.
  private func bar(within width: Int) -> String {
    var text = " \(percent)%"
    if width >= Self.shortestBar + 2 + text.count + 1 + file.count { text += " \(file)" }
    let length = min(Self.barWidth, width - 2 - text.count)
    if length < Self.shortestBar { return String(text.dropFirst().prefix(max(0, width))) }
    let done = percent * length / 100
    let bar = String(repeating: "#", count: done) + String(repeating: ".", count: length - done)
    return "[\(bar)]\(text)"
  }
}
