import ThreadingPlatform

/// The program over a catalogue of workloads: reads the arguments, measures, writes the report.
struct Program {
  enum ExitStatus: CInt {
    case success = 0
    case wrongResult = 1
    case usage = 64
  }

  let catalogue: [Workload]
  let console: Console

  /// Does what the arguments ask for.
  func run(_ arguments: [String]) -> ExitStatus {
    do {
      let options = try Options(arguments)
      if options.action == .help {
        console.print(Usage.text)
        return .success
      }
      let workloads = try selected(by: options.filter)
      if options.action == .list {
        console.print(Listing.text(of: workloads))
        return .success
      }
      return measure(workloads, options)
    } catch {
      console.complain("benchmarks: \(error)\nTry 'benchmarks --help'.\n")
      return .usage
    }
  }

  private func selected(by filter: String?) throws(UsageError) -> [Workload] {
    guard let filter, let pattern = try? Regex(filter) else { return catalogue }
    let found = catalogue.filter { $0.name.contains(pattern) }
    guard !found.isEmpty else {
      throw UsageError(
        option: "--filter", value: filter,
        allowed: "an expression that matches the name of a workload (--list names them)")
    }
    return found
  }

  private func measure(_ workloads: [Workload], _ options: Options) -> ExitStatus {
    if Machine.isDebugBuild && !options.isSmoke {
      console.complain("benchmarks: built without optimisation; the figures mean nothing\n")
    }
    let runner = Runner(
      plan: options.isSmoke ? .smoke : .measuring(samples: options.samples),
      progress: ProgressLine(console: console, workloads: workloads.count))
    // Measured on a thread of its own while this one sleeps in `join`: the C library takes short
    // cuts in a process with a single thread, and no user of this package has one.
    let outcome = OutcomeBox()
    do throws(ThreadingError) {
      try SystemThread.start(.init()) { outcome.value = runner.measure(workloads) }.join()
    } catch {
      console.complain("benchmarks: \(error)\n")
      return .wrongResult
    }
    let report = Report(machine: .current(), plan: runner.plan, rows: outcome.value.rows)
    console.print(report.text(as: options.format))
    for failure in outcome.value.failures { console.complain("benchmarks: \(failure)\n") }
    return outcome.value.failures.isEmpty ? .success : .wrongResult
  }
}

/// Brings what the measuring thread found back to the one that joins it.
// SAFETY of @unchecked: written by the one thread before it ends, read by the other after the join.
private final class OutcomeBox: @unchecked Sendable {
  var value = Runner.Outcome()
}
