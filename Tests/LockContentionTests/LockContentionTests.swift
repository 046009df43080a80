import BenchmarkSupport
import Foundation
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
      #expect(figures[7] >= 0 && figures[7] <= figures[8])
      #expect(figures[9] <= figures[8])
      // A thread alone hands over to nobody, and is the most and the least served.
      if threads == 1 { #expect(figures[6] == 0 && figures[5] == 1) }
    }
  }

  @Test(
    "FastMutex takes at most 1.2 times as long as the mutex of POSIX at any number of threads",
    .disabled(if: ThreadSanitizer.isActive, "it slows our code down, and not the C library's"),
    arguments: [2, 4, 8, 16])
  func notSlowerThanPosix(threads: Int) throws {
    let arguments = [
      "--seconds", "0.2", "--slice", "10", "--locks", "fast,pthread", "--format", "json",
      "--threads", "\(threads)",
    ]
    // Measured again before it is called slow, since other programs take their share.
    var ratios: [Double] = []
    repeat {
      let transcript = Transcript()
      #expect(transcript.run(arguments) == .success)
      let printed = Data(transcript.printed.utf8)
      let rows = try JSONDecoder().decode(Report.Document.self, from: printed).rows
      #expect(rows.map(\.lock) == ["fast", "pthread"])
      #expect(rows.allSatisfy { $0.processorNanoseconds > 0 })
      ratios.append(rows[0].minimumNanoseconds / rows[1].minimumNanoseconds)
    } while ratios.count < 10 && ratios.allSatisfy { $0 > 1.2 }
    #expect(ratios.contains { $0 <= 1.2 }, "\(ratios)")
  }

  @Test("the JSON form can be read back, and the table lines up")
  func formats() throws {
    let json = Transcript()
    let arguments =
      Self.quick + ["--threads", "2", "--locks", "fast,pthread", "--placement", "one"]
    #expect(json.run(arguments + ["--format=json"]) == .success)
    let document = try JSONDecoder().decode(Report.Document.self, from: Data(json.printed.utf8))
    #expect(document.schema == "swift-threading lock-contention 2")
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
      do { _ = try Slice.run(setting, with: SharedNothing.self) } catch { found = true }
    }
    #expect(found)
  }
}

/// Lets everybody in.
private final class SharedNothing: ContendedLock {
  func withLock(_ body: () -> Void) { body() }
}
