import BenchmarkSupport
import Glibc
import TestSupport
import Testing
import ThreadingPlatform

@testable import benchmarks

/// Workloads of which the second sends a signal to the process.
private enum Signalled {
  static let quick = Workload(
    "lock/quick", item: "one turn", threads: 1, [Implementation.ours { Int64($0) * 10 }])
  static let after = Workload(
    "lock/after", item: "one turn", threads: 1, [Implementation.ours { Int64($0) * 10 }])

  static func by(_ signal: CInt, then: @escaping @Sendable () -> Void = {}) -> Workload {
    Workload(
      "lock/signalled", item: "one turn", threads: 1,
      [
        Implementation.ours {
          kill(getpid(), signal)
          then()
          return Int64($0) * 10
        }
      ])
  }

  static func waitForEver() {
    while true { SystemThread.sleep(until: .now.advanced(by: .seconds(60))) }
  }

  /// Runs the program over them and ends the process as it would.
  static func run(_ signalling: Workload) -> Never {
    let program = Program(catalogue: [quick, signalling, after], console: .standard)
    _exit(program.run(["--smoke", "--samples", "3", "--format", "tsv"]).rawValue)
  }
}

@Suite("A run that a signal ends", .endsInTime)
struct InterruptionTests {
  @Test("Ctrl-C prints what is done so far and ends with 130")
  func interrupted() async throws {
    let result = try #require(
      await #expect(
        processExitsWith: .exitCode(130), observing: [\.standardOutputContent]
      ) {
        // Goes on only once the request has been seen, so that nothing depends on who is faster.
        Signalled.run(Signalled.by(SIGINT, then: Signalled.waitForEver))
      })
    let text = String(decoding: result.standardOutputContent, as: UTF8.self)
    #expect(text.contains("lock/quick\tours"))
    #expect(!text.contains("lock/after"))
  }

  @Test("SIGTERM ends with 143")
  func terminated() async {
    await #expect(processExitsWith: .exitCode(143)) {
      Signalled.run(Signalled.by(SIGTERM, then: Signalled.waitForEver))
    }
  }

  @Test("a closed terminal ends with 129")
  func hungUp() async {
    await #expect(processExitsWith: .exitCode(129)) {
      Signalled.run(Signalled.by(SIGHUP, then: Signalled.waitForEver))
    }
  }

  @Test("signals that come while the files are written do not end the program before they are")
  func whileWriting() async {
    await #expect(processExitsWith: .exitCode(130)) {
      let console = Console(
        print: { _ in
          kill(getpid(), SIGTERM)
          kill(getpid(), SIGINT)
        }, complain: { _ in }, showsProgress: false)
      let program = Program(
        catalogue: [Signalled.quick, Signalled.by(SIGINT, then: Signalled.waitForEver)],
        console: console)
      let path = "/tmp/benchmarks-\(getpid()).tsv"
      let status = program.run(["--smoke", "--save", path])
      guard unsafe unlink(path) == 0 else { _exit(1) }
      _exit(status.rawValue)
    }
  }

  @Test("with nothing measured, the older file stays")
  func nothingMeasured() async {
    await #expect(processExitsWith: .exitCode(130)) {
      let path = "/tmp/benchmarks-\(getpid()).tsv"
      guard let file = unsafe fopen(path, "w") else { _exit(1) }
      _ = unsafe fputs("older", file)
      _ = unsafe fclose(file)
      let console = Console(print: { _ in }, complain: { _ in }, showsProgress: false)
      let program = Program(
        catalogue: [Signalled.by(SIGINT, then: Signalled.waitForEver)], console: console)
      let status = program.run(["--smoke", "--save", path])
      var info = stat()
      let isOlder = unsafe stat(path, &info) == 0 && info.st_size == 5
      _ = unsafe unlink(path)
      _exit(isOlder ? status.rawValue : 1)
    }
  }

  @Test("a signal that was ignored before is ignored", arguments: [SIGINT, SIGHUP])
  func ignored(number: CInt) async {
    await #expect(processExitsWith: .success) { [number] in
      _ = signal(number, SIG_IGN)
      let signalled = Signalled.by(number)
      let console = Console(print: { _ in }, complain: { _ in }, showsProgress: false)
      let status = Program(catalogue: [signalled], console: console).run(["--smoke"])
      kill(getpid(), number)
      _exit(status.rawValue)
    }
  }

  @Test("a batch that ends in time is waited for, and no workload follows")
  func patience() async throws {
    await #expect(processExitsWith: .exitCode(130)) {
      let interruption = Interruption()
      let status = Measuring(interruption: interruption, patience: .seconds(60))
      let ledger = Ledger()
      let console = Console(print: { _ in }, complain: { _ in }, showsProgress: false)
      let runner = Runner(
        plan: .smoke, progress: ProgressLine(console: console, steps: 3),
        interruption: interruption, ledger: ledger)
      let signalled = Workload(
        "lock/signalled", item: "one turn", threads: 1,
        [
          Implementation.ours { items in
            // Once only: a second signal would not be waited for.
            if interruption.requested == nil { kill(getpid(), SIGINT) }
            while interruption.requested == nil {
              SystemThread.sleep(until: .now.advanced(by: .milliseconds(1)))
            }
            return Int64(items)
          }
        ])
      let ended = try status.run { runner.measure([Signalled.quick, signalled, Signalled.after]) }
      #expect(ended)
      #expect(interruption.requested == SIGINT)
      #expect(ledger.outcome.rows.map(\.workload) == ["lock/quick"])
      _exit(130)
    }
  }

  @Test("afterwards a signal does again what it did before")
  func restored() async {
    await #expect(processExitsWith: .signal(SIGINT)) {
      let program = Program(
        catalogue: [Signalled.quick],
        console: Console(print: { _ in }, complain: { _ in }, showsProgress: false))
      guard program.run(["--smoke"]) == .success else { _exit(1) }
      kill(getpid(), SIGINT)
      Signalled.waitForEver()
    }
  }
}

@Suite("The progress line", .endsInTime)
struct ProgressLineTests {
  @Test("it has a bar, the share done, what is left and what is being done, in 79 columns")
  func content() {
    let line = ProgressLine.line(
      step: 3, of: 4, done: 0.5, elapsed: 30, text: "lock/value sample 2")
    #expect(line == "[3/4] ██████████░░░░░░░░░░ 50% 30 s left lock/value sample 2")
    let long = ProgressLine.line(
      step: 3, of: 4, done: 0.5, elapsed: 3_000, text: String(repeating: "x", count: 200))
    #expect(long.count == 79)
    #expect(long.contains("50 min left"))
  }

  @Test("before there is anything to tell from, nothing is told of the rest")
  func early() {
    let line = ProgressLine.line(step: 1, of: 4, done: 0, elapsed: 0, text: "lock/value")
    #expect(line == "[1/4] ░░░░░░░░░░░░░░░░░░░░ 0% lock/value")
    let full = ProgressLine.line(step: 4, of: 4, done: 1, elapsed: 10, text: "")
    #expect(full.contains("████████████████████ 100% 0 s left"))
  }
}
