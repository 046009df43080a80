import BenchmarkSupport
import Foundation
import ThreadingPlatform

/// The program over a catalogue of workloads: reads the arguments, measures, writes the report.
struct Program {
  enum ExitStatus: CInt {
    case success = 0
    case wrongResult = 1
    /// Slower than the gate allows, or than the run that was compared with.
    case tooSlow = 2
    case usage = 64
    /// A file or standard output could not be written, or the system refused what was needed.
    case refused = 74
    case hungUp = 129
    case interrupted = 130
    case terminated = 143

    /// What a shell gives for a program that the signal ended.
    init(endedBy signal: CInt) {
      switch signal {
      case SIGTERM: self = .terminated
      case SIGHUP: self = .hungUp
      default: self = .interrupted
      }
    }

    /// Whether a signal ended the run.
    var isEarly: Bool { rawValue > 128 }
  }

  /// The workloads; those that exist for any number of threads with the given ones, or the usual.
  let catalogue: (_ threads: [Int]?) -> [Workload]
  let console: Console
  /// Where plug-ins are looked for when no folder is named.
  let nativeFolder: String?

  init(catalogue: [Workload], console: Console) {
    self.init(catalogue: { _ in catalogue }, console: console)
  }

  init(
    catalogue: @escaping ([Int]?) -> [Workload], console: Console, nativeFolder: String? = nil
  ) {
    self.catalogue = catalogue
    self.console = console
    self.nativeFolder = nativeFolder
  }

  /// Does what the arguments ask for.
  func run(_ arguments: [String]) -> ExitStatus {
    let status = follow(arguments)
    guard !console.tellsOfOutput(as: "benchmarks") else { return status }
    return status == .success || status == .tooSlow ? .refused : status
  }

  private func follow(_ arguments: [String]) -> ExitStatus {
    do {
      let options = try Options(arguments)
      if options.action == .help {
        console.print(Usage.text)
        return .success
      }
      let native = try nativeRivals(options)
      let assignment = try Assignment(
        options, catalogue: native.joining(catalogue(options.threads)))
      if options.action == .list {
        console.print(Listing.text(of: assignment.workloads))
        return .success
      }
      return measure(assignment)
    } catch {
      console.complain("benchmarks: \(error)\nTry 'benchmarks --help'.\n")
      return .usage
    }
  }

  private func nativeRivals(_ options: Options) throws(UsageError) -> NativeRivals {
    guard let folder = options.native ?? nativeFolder else { return NativeRivals() }
    let native = NativeRivals(folder: folder)
    for problem in native.problems { console.complain("benchmarks: left out: \(problem)\n") }
    if options.native != nil, native.rivals.isEmpty {
      throw UsageError(
        option: "--native", value: folder,
        allowed: "a folder with plug-ins, as Benchmarks/native/build.sh makes it")
    }
    return native
  }

  private func measure(_ assignment: Assignment) -> ExitStatus {
    let options = assignment.options
    if Machine.isDebugBuild && !options.isSmoke {
      console.complain("benchmarks: built without optimisation; the figures mean nothing\n")
    }
    let ledger = Ledger()
    let interruption = Interruption()
    // Until the files are written.
    let signals = EndingSignals()
    defer { signals.restore() }
    let progress = ProgressLine(
      console: console, steps: assignment.workloads.count + assignment.growing.count)
    let runner = Runner(
      plan: options.plan, progress: progress, interruption: interruption, ledger: ledger)
    let scaling = ScaleRunner(
      plan: options.plan, sizes: options.isSmoke ? [10, 100] : ScaleRunner.sizes,
      progress: progress, interruption: interruption, ledger: ledger)
    do throws(ThreadingError) {
      _ = try Measuring(interruption: interruption, signals: signals.numbers).run {
        runner.measure(assignment.workloads)
        scaling.measure(assignment.growing)
        if let gate = assignment.gate { Self.remeasure(gate, assignment, runner) }
      }
    } catch {
      progress.ends()
      console.complain("benchmarks: \(error)\n")
      return .refused
    }
    progress.ends()
    return conclude(assignment, ledger.outcome, endedBy: interruption.requested)
  }

  /// How often a limit is measured that is not kept: a machine that was busy for a moment breaks
  /// one, a toolkit that is slower breaks it each time.
  private static let gateTries = 3

  private static func remeasure(_ gate: Gate, _ assignment: Assignment, _ runner: Runner) {
    for _ in 1..<gateTries {
      let broken = Set(
        gate.verdicts(on: runner.ledger.outcome.rows).filter { !$0.isKept }
          .map(\.limit.workload))
      if broken.isEmpty { return }
      runner.measure(assignment.workloads.filter { broken.contains($0.name) })
    }
  }

  /// Writes what was found, and judges it.
  private func conclude(
    _ assignment: Assignment, _ outcome: Ledger.Outcome, endedBy signal: CInt?
  ) -> ExitStatus {
    let options = assignment.options
    let report = Report(
      machine: .current(), plan: options.plan, rows: outcome.rows, growth: outcome.growth)
    console.print(report.text(as: options.format))
    if options.format != .table { console.complain(report.noise) }
    for failure in outcome.failures { console.complain("benchmarks: \(failure)\n") }
    var status = ExitStatus.success
    if !outcome.failures.isEmpty {
      status = outcome.failures.allSatisfy(\.isRefusal) ? .refused : .wrongResult
    }
    if !write(report, of: assignment) { status = .refused }
    if let signal {
      console.complain("benchmarks: stopped by a signal; this is what was done by then\n")
      return ExitStatus(endedBy: signal)
    }
    if let saved = assignment.saved, let path = options.compare {
      let comparison = Comparison(of: outcome.rows, with: saved, threshold: options.threshold)
      judge(comparison.text(with: saved, path: path, threshold: options.threshold), options)
      if comparison.changes.isEmpty, status == .success { status = .usage }
      if !comparison.regressions.isEmpty, status == .success { status = .tooSlow }
    }
    if let gate = assignment.gate, let path = options.gate {
      let verdicts = gate.verdicts(on: outcome.rows)
      judge(Gate.text(of: verdicts, path: path), options)
      if verdicts.contains(where: { !$0.isKept }), status == .success { status = .tooSlow }
    }
    return status
  }

  /// Beside a table for people; where a program reads the output, apart from it.
  private func judge(_ text: String, _ options: Options) {
    if options.format == .table { console.print(text) } else { console.complain(text) }
  }

  /// Writes the files that are asked for.
  ///
  /// - Returns: whether all could be written.
  private func write(_ report: Report, of assignment: Assignment) -> Bool {
    var texts: [(OutputFile, String)] = []
    if let file = assignment.save {
      if report.rows.isEmpty {
        console.complain("benchmarks: nothing was measured; \(file.path) stays as it is\n")
      } else {
        texts.append((file, SavedRun.text(of: report)))
      }
    }
    if let file = assignment.report {
      let items = Dictionary(
        (assignment.workloads + assignment.growing).map { ($0.name, $0.item) },
        uniquingKeysWith: { first, _ in first })
      texts.append((file, Page(report: report, items: items).text))
    }
    var isWritten = true
    for (file, text) in texts {
      do {
        try file.write(text)
      } catch {
        isWritten = false
        console.complain(
          "benchmarks: \(file.option): \"\(file.path)\" cannot be written: "
            + "\(error.localizedDescription)\n")
      }
    }
    return isWritten
  }
}
