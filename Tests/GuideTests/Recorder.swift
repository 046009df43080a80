@testable import guide

/// A console that keeps what is printed.
final class Recorder {
  private(set) var output = ""
  private(set) var errors = ""

  func console(isTerminal: Bool = false) -> Console {
    Console(
      isTerminal: isTerminal, print: { self.output += $0 }, printError: { self.errors += $0 })
  }

  var lines: [Substring] { output.split(separator: "\n", omittingEmptySubsequences: false) }
}
