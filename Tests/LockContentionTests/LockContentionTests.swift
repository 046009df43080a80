import BenchmarkSupport
import Foundation
import Glibc
import TestSupport
import Testing
import ThreadingLocks

@testable import lock_contention

/// Runs the program and keeps what it wrote.
private final class Transcript: Sendable {
  private let output = Locked("")
  private let errors = Locked("")

  func run(_ arguments: [String]) -> Program.ExitStatus {
    let console = Console(
      print: { text in self.output.withLock { $0 += text } },
      complain: { text in self.errors.withLock { $0 += text } }, showsProgress: false)
    return Program(console: console).run(arguments)
  }

  var printed: String { output.withLock { $0 } }
  var complained: String { errors.withLock { $0 } }
}

@Suite("lock-contention", .endsInTime)
struct LockContentionTests {
  private static let quick = ["--seconds", "0.02", "--slice", "5"]

  @Test(
    "a bad argument is named with its value and what is allowed, and ends with 64",
    arguments: [
      (["--threads", "0"], "--threads: \"0\" is refused; allowed is whole numbers from 1 to 64"),
      (["--threads", "2,,4"], "--threads: \"2,,4\" is refused"),
      (["--threads=65"], "--threads: \"65\" is refused"),
      (["--inside", "-1"], "--inside: \"-1\" is refused; allowed is a whole number"),
      (["--outside", "1000001"], "--outside: \"1000001\" is refused"),
      (["--seconds", "0"], "--seconds: \"0\" is refused; allowed is a number from 0.02 to 600.0"),
      (["--seconds", "1e2"], "--seconds: \"1e2\" is refused"),
      (["--slice", "4"], "--slice: \"4\" is refused; allowed is a whole number of milliseconds"),
      (["--locks", "fast,slow"], "--locks: \"fast,slow\" is refused; allowed is names"),
      (["--locks", "fast,fast"], "--locks: \"fast,fast\" is refused; allowed is names with"),
      (["--placement", "two"], "--placement: \"two\" is refused; allowed is free, one"),
      (["--format", "xml"], "--format: \"xml\" is refused; allowed is table, tsv, json"),
      (["--format"], "--format: no value given; allowed is table, tsv, json"),
      (["--help=me"], "--help: \"me\" is refused; allowed is no value"),
      (["--inside", "1", "--inside", "2"], "--inside: \"--inside\" is refused; allowed is to"),
      (["fast"], "argument: \"fast\" is refused; allowed is --threads, --inside"),
    ])
  func refusals(arguments: [String], message: String) {
    let transcript = Transcript()
    #expect(transcript.run(arguments).rawValue == 64)
    #expect(transcript.printed.isEmpty)
    #expect(
      transcript.complained.hasPrefix("lock-contention: " + message), "\(transcript.complained)")
  }

  @Test("help names every option and every lock")
  func help() {
    let transcript = Transcript()
    #expect(transcript.run(["--help"]) == .success)
    for option in ["--threads", "--inside", "--outside", "--seconds", "--slice", "--locks"] {
      #expect(transcript.printed.contains(option))
    }
    for entrant in Entrant.all { #expect(transcript.printed.contains("  \(entrant.name) ")) }
    #expect(transcript.complained.isEmpty)
  }

  @Test("each lock has a row for each number of threads, with figures that can be")
  func rows() throws {
    let transcript = Transcript()
    // The sanitizer does not see the order that the standard library's mutex makes.
    let names = Entrant.all.map(\.name).filter {
      $0 != "synchronization" || !ThreadSanitizer.isActive
    }
    let locks = ["--locks", names.joined(separator: ",")]
    let arguments = Self.quick + locks + ["--threads", "1,3", "--format", "tsv"]
    #expect(transcript.run(arguments) == .success)
    let lines = transcript.printed.split(separator: "\n").map {
      $0.split(separator: "\t").map(String.init)
    }
    #expect(lines[0] == Row.CodingKeys.allCases.map(\.rawValue))
    #expect(lines.dropFirst().map { $0[0] } == names + names)
    for line in lines.dropFirst() {
      #expect(line.count == lines[0].count)
      let figures = try line.dropFirst().map { try #require(Double($0)) }
      let (threads, turns, median, least) = (figures[0], figures[1], figures[2], figures[3])
      // Four slices, in each of which a thread has a turn even if the machine lets it run too late.
      #expect(turns >= threads)
      #expect(least > 0 && least <= median)
      #expect(figures[5] >= 1, "the most served has no fewer turns than the least served")
      #expect((0...100).contains(figures[6]))
      // Two decimals of a millisecond may show as 0.
      #expect(figures[8] >= 0 && figures[8] <= figures[9])
      #expect(figures[10] <= figures[8] && figures[10] <= figures[11])
      #expect(figures[11] <= figures[9])
      #expect(figures[7] >= 0)
      // A thread alone hands over to nobody, and is the most and the least served.
      if threads == 1 { #expect(figures[6] == 0 && figures[5] == 1) }
    }
  }

  // What makes a lock several times slower than a plain one is that it is handed from thread to thread,
  // each of which sleeps for it. That can be counted, whatever else the machine does; the times
  // themselves are judged where they are measured with care, by `benchmarks --gate`.
  @Test(
    "FastMutex is not handed from sleeper to sleeper, at any number of threads",
    arguments: [1, 2, 4, 8, 16])
  func seldomSleeps(threads: Int) throws {
    let arguments = [
      "--seconds", "0.1", "--slice", "10", "--locks", "fast", "--format", "json",
      "--threads", "\(threads)",
    ]
    let transcript = Transcript()
    #expect(transcript.run(arguments) == .success)
    let printed = Data(transcript.printed.utf8)
    let rows = try JSONDecoder().decode(Report.Document.self, from: printed).rows
    #expect(rows.map(\.lock) == ["fast"])
    #expect(rows[0].processorNanoseconds > 0)
    // A thread looks for 10 us before it sleeps: a hundred turns of others.
    #expect(rows[0].sleepsPercent < 10)
  }

  @Test("sleeps are counted")
  func sleeps() throws {
    let setting = Setting(
      threads: 2, stepsInside: 0, stepsOutside: 0, nanoseconds: 5_000_000, placement: .free,
      timesTurns: false)
    let slice = try Slice.run(setting, SleepyLock.init)
    #expect(slice.sleeps >= slice.turns.reduce(0, +))
    #expect(Row(lock: "sleepy", threads: 2, slices: [slice], timed: [slice]).sleepsPercent >= 100)
  }

  @Test("the JSON form can be read back, and the table lines up")
  func formats() throws {
    let json = Transcript()
    let arguments =
      Self.quick + ["--threads", "2", "--locks", "fast,pthread", "--placement", "one"]
    #expect(json.run(arguments + ["--format=json"]) == .success)
    let document = try JSONDecoder().decode(Report.Document.self, from: Data(json.printed.utf8))
    #expect(document.schema == "swift-threading lock-contention 3")
    #expect(document.machine.cores >= 1)
    #expect(document.rows.map(\.lock) == ["fast", "pthread"])
    #expect(document.placement == "one")
    #expect(document.insideNanoseconds == 20 && document.outsideNanoseconds == 50)

    let table = Transcript()
    #expect(table.run(arguments) == .success)
    let lines = table.printed.split(separator: "\n").dropFirst(3)
    #expect(lines.count == 3)
    #expect(Set(lines.map(\.count)).count == 1)
  }

  // The sanitizer would find it out first.
  @Test("a lock that does not hold is found out", .disabled(if: ThreadSanitizer.isActive))
  func wrongCount() {
    // With one place for all and no lock, turns get lost; a few tries, as it takes two threads that
    // run at one time.
    var found = false
    for _ in 0..<200 where !found {
      let setting = Setting(
        threads: 4, stepsInside: 2, stepsOutside: 0, nanoseconds: 2_000_000, placement: .free,
        timesTurns: false)
      do { _ = try Slice.run(setting, SharedNothing.init) } catch { found = true }
    }
    #expect(found)
  }
}

@Suite("A contest that a signal ends", .endsInTime)
struct EndedContestTests {
  @Test("Ctrl-C prints what is measured so far and ends with 130")
  func interrupted() async throws {
    let result = try #require(
      await #expect(
        processExitsWith: .exitCode(130),
        observing: [\.standardOutputContent, \.standardErrorContent]
      ) {
        let arguments = ["--seconds", "600", "--slice", "5", "--locks", "fast,none"]
        // When there is a row of each lock, which is after four slices.
        let contest = SignallingConsole(afterSlices: 6)
        let program = Program(console: contest.console)
        _exit(program.run(arguments + ["--threads", "2", "--format", "tsv"]).rawValue)
      })
    let lines = String(decoding: result.standardOutputContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.map { $0.prefix { $0 != "\t" } } == ["lock", "fast", "none"])
    #expect(
      String(decoding: result.standardErrorContent, as: UTF8.self)
        .contains("lock-contention: stopped by a signal"))
  }

  @Test("a closed terminal ends with 129, and SIGTERM with 143")
  func others() async {
    await #expect(processExitsWith: .exitCode(129)) { endContest(with: SIGHUP) }
    await #expect(processExitsWith: .exitCode(143)) { endContest(with: SIGTERM) }
  }
}

private func endContest(with signal: CInt) -> Never {
  let program = Program(console: SignallingConsole(afterSlices: 1, signal: signal).console)
  _exit(program.run(["--seconds", "600", "--slice", "5", "--locks", "none"]).rawValue)
}

/// Sends the process a signal when so many slices have begun: the progress tells.
private final class SignallingConsole: Sendable {
  let slices = Locked(0)
  let limit: Int
  let signal: CInt

  init(afterSlices limit: Int, signal: CInt = SIGINT) {
    self.limit = limit
    self.signal = signal
  }

  var console: Console {
    let standard = Console.standard
    return Console(
      print: standard.print,
      complain: { text in
        guard text.contains("slice ") else { return standard.complain(text) }
        let count = self.slices.withLock { slices in
          slices += 1
          return slices
        }
        if count == self.limit { kill(getpid(), self.signal) }
      }, showsProgress: true)
  }
}

@Suite("Locks of plug-ins", .endsInTime, .enabled(if: SharedObject.compiler != nil))
struct NativeLocksTests {
  private static let header = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Benchmarks/native")

  private static let rivals = """
    #include "threading_rival.h"
    #include <stdlib.h>
    int32_t threading_rival_version(void) { return THREADING_RIVAL_VERSION; }
    int32_t threading_rival_count(void) { return 0; }

    """

  /// One lock that is one, and one that is none.
  private static let locks =
    rivals + """
      static void take(void *lock) { while (__atomic_exchange_n((int *)lock, 1, __ATOMIC_ACQUIRE)) ; }
      static void give(void *lock) { __atomic_store_n((int *)lock, 0, __ATOMIC_RELEASE); }
      static void nothing(void *lock) { (void)lock; }
      int32_t threading_rival_lock_count(void) { return 2; }
      const char *threading_rival_lock_name(int32_t lock) { return lock ? "open" : "spinning"; }
      void *threading_rival_lock_make(int32_t lock) { return calloc(1, sizeof(int)); }
      threading_rival_lock_step threading_rival_lock_take(int32_t lock) {
        return lock ? nothing : take;
      }
      threading_rival_lock_step threading_rival_lock_give(int32_t lock) {
        return lock ? nothing : give;
      }
      threading_rival_lock_step threading_rival_lock_end(int32_t lock) { return free; }

      """

  private func folder(_ sources: [String: String]) throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: "locks-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, source) in sources {
      try SharedObject.build(
        source, at: folder.appending(path: "\(name).so").path, including: Self.header.path)
    }
    return folder
  }

  // The sanitizer does not see what a plug-in orders.
  @Test("they take part by their names", .disabled(if: ThreadSanitizer.isActive))
  func takingPart() throws {
    let folder = try folder(["locks": Self.locks, "rivals": Self.rivals])
    defer { try? FileManager.default.removeItem(at: folder) }
    let transcript = Transcript()
    let arguments = [
      "--seconds", "0.02", "--slice", "5", "--threads", "1,2", "--locks", "spinning,fast",
      "--native", folder.path, "--format", "tsv",
    ]
    #expect(transcript.run(arguments) == .success)
    let names = transcript.printed.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
    #expect(names == ["lock", "spinning", "fast", "spinning", "fast"])
    #expect(transcript.complained.isEmpty)
  }

  @Test("a name that no plug-in has, and a folder without locks, are refused")
  func refused() throws {
    let folder = try folder(["rivals": Self.rivals, "broken": "int nothing;\n"])
    defer { try? FileManager.default.removeItem(at: folder) }
    let transcript = Transcript()
    #expect(transcript.run(["--native", folder.path]) == .usage)
    #expect(
      transcript.complained.contains("broken.so: it has no threading_rival_version"))
    #expect(transcript.complained.contains("--native: \"\(folder.path)\" is refused"))
    let unknown = Transcript()
    #expect(unknown.run(["--locks", "spinning"]) == .usage)
    #expect(unknown.complained.contains("each once, of fast, fair, read-write"))
  }
}

/// Has every turn sleep.
private final class SleepyLock: ContendedLock {
  private let lock = FastMutex()

  func withLock(_ body: () -> Void) {
    lock.withLock(body)
    usleep(1)
  }
}

/// Lets everybody in.
private final class SharedNothing: ContendedLock {
  func withLock(_ body: () -> Void) { body() }
}
