import BenchmarkSupport
import Glibc
import ThreadingPlatform

/// Reads the arguments, holds the contest, writes the report.
struct Program {
  enum ExitStatus: CInt {
    case success = 0
    case wrongResult = 1
    case usage = 64
    /// The system refused a thread, or standard output could not be written.
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

  let console: Console
  /// Where plug-ins are looked for when no folder is named; nil for nowhere.
  let nativeFolder: String?

  init(console: Console, nativeFolder: String? = nil) {
    self.console = console
    self.nativeFolder = nativeFolder
  }

  /// Does what the arguments ask for.
  func run(_ arguments: [String]) -> ExitStatus {
    let status = follow(arguments)
    return console.tellsOfOutput(as: "lock-contention") || status != .success ? status : .refused
  }

  private func follow(_ arguments: [String]) -> ExitStatus {
    do throws(UsageError) {
      let options = try Options(arguments)
      guard !options.wantsHelp else {
        console.print(Usage.text)
        return .success
      }
      let known = Entrant.all + (try nativeLocks(options))
      let entrants = try options.locks.map { names throws(UsageError) in
        try Entrant.named(names, among: known)
      }
      return hold(options, entrants ?? known)
    } catch {
      console.complain("lock-contention: \(error)\nTry 'lock-contention --help'.\n")
      return .usage
    }
  }

  private func nativeLocks(_ options: Options) throws(UsageError) -> [Entrant] {
    guard let folder = options.native ?? nativeFolder else { return [] }
    let native = NativeLocks.all(in: folder)
    for problem in native.problems { console.complain("lock-contention: left out: \(problem)\n") }
    if options.native != nil, native.entrants.isEmpty {
      throw UsageError(
        option: "--native", value: folder, allowed: "a folder with plug-ins that have locks")
    }
    return native.entrants
  }

  private func hold(_ options: Options, _ entrants: [Entrant]) -> ExitStatus {
    let interruption = Interruption()
    let signals = EndingSignals()
    defer { signals.restore() }
    let progress = ProgressLine(console: console, steps: options.threads.count)
    let contest = Contest(options, entrants, progress: progress, interruption: interruption)
    do throws(ThreadingError) {
      _ = try Measuring(interruption: interruption, signals: signals.numbers).run { contest.hold() }
    } catch {
      progress.ends()
      console.complain("lock-contention: \(error)\n")
      return .refused
    }
    progress.ends()
    if let error = contest.failure {
      console.complain("lock-contention: \(error)\n")
      return error is ThreadingError ? .refused : .wrongResult
    }
    let report = Report(machine: .current(), options: options, rows: contest.rows)
    console.print(report.text)
    guard let signal = interruption.requested else { return .success }
    console.complain("lock-contention: stopped by a signal; this is what was done by then\n")
    return ExitStatus(endedBy: signal)
  }
}
