@testable import guide

/// A console that keeps what is printed.
final class Recorder {
  private(set) var output = ""
  private(set) var errors = ""

  /// What the terminal tells of itself when it is asked.
  var columns = 80
  var isReady = true

  func console(isTerminal: Bool = false) -> Console {
    Console(
      isTerminal: isTerminal, print: { self.output += $0 }, printError: { self.errors += $0 },
      columns: { self.columns }, isReady: { self.isReady })
  }

  var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false) }
}
