import BenchmarkSupport
import ThreadingPlatform

/// Reads the arguments, holds the contest, writes the report.
struct Program {
  enum ExitStatus: CInt {
    case success = 0
    case wrongResult = 1
    case usage = 64
    /// The system refused a thread, or standard output could not be written.
    case refused = 74
  }

  let console: Console

  /// Does what the arguments ask for.
  func run(_ arguments: [String]) -> ExitStatus {
    let status = follow(arguments)
    return console.tellsOfOutput(as: "lock-contention") || status != .success ? status : .refused
  }

  private func follow(_ arguments: [String]) -> ExitStatus {
    do {
      let options = try Options(arguments)
      guard !options.wantsHelp else {
        console.print(Usage.text)
        return .success
      }
      let rows = try Contest(options).hold()
      console.print(Report(machine: .current(), options: options, rows: rows).text)
      return .success
    } catch let error as UsageError {
      console.complain("lock-contention: \(error)\nTry 'lock-contention --help'.\n")
      return .usage
    } catch {
      console.complain("lock-contention: \(error)\n")
      return error is ThreadingError ? .refused : .wrongResult
    }
  }
}
