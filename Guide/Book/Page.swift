import Threading

/// What a chapter prints on, and where its claims are checked.
///
/// Any thread may print; lines of several threads are never mixed up.
// SAFETY of @unchecked: the console is used with the lock of `counts` held alone.
final class Page: @unchecked Sendable {
  private let console: Console
  private let counts = Locked(Counts())

  private struct Counts {
    var claims = 0
    var wrong = 0
    var isLive = false
  }

  /// Whether there is a terminal, on which colours and moving pictures make sense.
  let isTerminal: Bool

  init(_ console: Console) {
    self.console = console
    isTerminal = console.isTerminal
  }

  /// How many claims were checked, and how many of them did not hold.
  var claims: (all: Int, wrong: Int) { counts.withLock { ($0.claims, $0.wrong) } }

  /// Begins a section of what is shown.
  func section(_ title: String) {
    print("\n" + styled("== \(title)", .bold))
  }

  /// Prints a line.
  func say(_ line: String) {
    print("  " + Printable.line(line))
  }

  /// Prints what was measured, which is another figure in each run.
  func figure(_ name: String, _ value: some CustomStringConvertible) {
    print("  \(name): " + styled(Printable.line("\(value)"), .cyan))
  }

  /// Checks a claim and prints it with the verdict. One that does not hold makes the program's exit
  /// status that of a failure.
  func claim(_ claim: String, _ holds: Bool) {
    counts.withLock { counts in
      counts.claims += 1
      if !holds { counts.wrong += 1 }
    }
    print(
      "  " + (holds ? styled("ok:", .green) : styled("WRONG:", .red)) + " \(Printable.line(claim))")
  }

  /// Says that a claim was not checked, since this machine has not what it takes.
  func skip(_ claim: String) {
    print("  not shown: \(claim)")
  }

  /// Draws a line that the next one is drawn over: a moving picture. Without a terminal, nothing.
  func live(_ line: String) {
    guard isTerminal else { return }
    counts.withLock { counts in
      let width = max(0, console.columns() - 1)
      console.print(Self.erasing + String(line.prefix(width)))
      counts.isLive = true
    }
  }

  /// Draws lines that are for the eye alone, and another in each run. Without a terminal, nothing.
  func draw(_ lines: [String]) {
    guard isTerminal else { return }
    for line in lines { print("  " + styled(line, .cyan)) }
  }

  /// Makes room for other lines.
  func eraseLive() {
    counts.withLock { counts in
      if counts.isLive { console.print(Self.erasing) }
      counts.isLive = false
    }
  }

  private static let erasing = "\r\u{1B}[K"

  private func print(_ line: String) {
    counts.withLock { counts in
      console.print((counts.isLive ? Self.erasing : "") + line + "\n")
      counts.isLive = false
    }
  }

  private enum Style: String {
    case bold = "1"
    case red = "31"
    case green = "32"
    case cyan = "36"
  }

  private func styled(_ text: String, _ style: Style) -> String {
    isTerminal ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }
}
