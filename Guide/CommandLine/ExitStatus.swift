/// What the program tells the shell when it ends. The numbers are those of `sysexits.h`, and 128 plus
/// the number of SIGINT for an import that was cancelled.
enum ExitStatus: Int32, CaseIterable, Sendable {
  case done = 0
  case usage = 64
  case badData = 65
  case noInput = 66
  case noLibrary = 69
  case wrong = 70
  case system = 71
  case fileError = 74
  case cancelled = 130

  /// What an import can end with.
  static var ofImport: [ExitStatus] { allCases.filter { $0 != .wrong } }

  /// What it means, in one line of the help.
  var meaning: String {
    switch self {
    case .done: "done; rows that were skipped were reported"
    case .usage: "the command line is wrong"
    case .badData: "a problem under --strict, or a required file whose header cannot be used"
    case .noInput: "the feed cannot be read, or is none"
    case .noLibrary: "the database library cannot be used"
    case .wrong: "a claim of a chapter did not hold"
    case .system: "the system refused a thread or another resource"
    case .fileError: "the database or a generated file cannot be written"
    case .cancelled: "cancelled by Ctrl-C or SIGTERM"
    }
  }
}
