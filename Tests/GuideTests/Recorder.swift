@testable import guide

/// A console that keeps what is printed.
final class Recorder {
  private(set) var output = ""
  private(set) var errors = ""

  /// What the terminal tells of itself when it is asked.
  var columns = 80
  var isReady = true

  /// Called with what is printed, as a terminal that is slow would be.
  var whenPrinted: (String) -> Void = { _ in }

  func console(isTerminal: Bool = false) -> Console {
    Console(
      isTerminal: isTerminal, print: { self.record($0) }, printError: { self.errors += $0 },
      columns: { self.columns }, isReady: { self.isReady })
  }

  private func record(_ text: String) {
    output += text
    whenPrinted(text)
  }

  var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false) }
}
