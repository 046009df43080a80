import BenchmarkSupport

/// Reads the arguments, holds the contest, writes the report.
struct Program {
  enum ExitStatus: Int32 {
    case success = 0
    case wrongResult = 1
    case usage = 64
  }

  /// Writes to the standard output.
  let print: (String) -> Void
  /// Writes to the standard error.
  let complain: (String) -> Void

  /// Does what the arguments ask for.
  func run(_ arguments: [String]) -> ExitStatus {
    do {
      let options = try Options(arguments)
      guard !options.wantsHelp else {
        print(Usage.text)
        return .success
      }
      let rows = try Contest(options).hold()
      print(Report(options: options, rows: rows).text)
      return .success
    } catch let error as UsageError {
      complain("lock-contention: \(error)\nTry 'lock-contention --help'.\n")
      return .usage
    } catch {
      complain("lock-contention: \(error)\n")
      return .wrongResult
    }
  }
}
