import BenchmarkSupport
import ThreadingPlatform

/// The program: reads the arguments, measures, writes the table.
struct CostProgram {
  enum ExitStatus: CInt {
    case success = 0
    case usage = 64
    /// The system refused a thread, or standard output could not be written.
    case refused = 74
  }

  let console: Console

  /// Does what the arguments ask for.
  func run(_ arguments: [String]) -> ExitStatus {
    let status = follow(arguments)
    return console.tellsOfOutput(as: "thread-cost") || status != .success ? status : .refused
  }

  private func follow(_ arguments: [String]) -> ExitStatus {
    let options: CostOptions
    do {
      options = try CostOptions(arguments)
    } catch {
      console.complain("thread-cost: \(error)\nTry 'thread-cost --help'.\n")
      return .usage
    }
    if options.wantsHelp {
      console.print(CostOptions.help)
      return .success
    }
    if Machine.isDebugBuild {
      console.complain("thread-cost: built without optimisation; the times mean little\n")
    }
    do {
      let table = CostTable(
        machine: .current(), options: options, costs: try CostMeasuring(options).all())
      console.print(table.text(as: options.format))
      return .success
    } catch {
      console.complain("thread-cost: \(error)\n")
      return .refused
    }
  }
}
