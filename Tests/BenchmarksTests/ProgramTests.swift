import Foundation
import Testing
import ThreadingLocks

@testable import benchmarks

/// Runs the program and keeps what it wrote.
private final class Transcript: Sendable {
  private let output = Locked("")
  private let errors = Locked("")

  func run(
    _ catalogue: [Workload], _ arguments: [String], showsProgress: Bool = false
  ) -> Program.ExitStatus {
    let console = Console(
      print: { text in self.output.withLock { $0 += text } },
      complain: { text in self.errors.withLock { $0 += text } },
      showsProgress: showsProgress)
    return Program(catalogue: catalogue, console: console).run(arguments)
  }

  var printed: String { output.withLock { $0 } }
  var complained: String { errors.withLock { $0 } }
}

/// Two workloads that take no time and are right, and one that is wrong.
private enum Sample {
  static let quick = Workload(
    "lock/quick", item: "one turn", threads: 1,
    [Implementation.ours { Int64($0) * 10 }, Implementation("pthread") { Int64($0) * 25 }])
  static let other = Workload(
    "loop/other", item: "one message", threads: 2, [Implementation("dispatch") { Int64($0) * 7 }])
  static let wrong = Workload(
    "lock/wrong", item: "one turn", threads: 1,
    [Implementation.ours { _ in throw WrongResult("the count is 3, expected 4") }])
}

@Suite("Program")
struct ProgramTests {
  @Test("help goes to standard output and succeeds")
  func help() {
    let transcript = Transcript()
    #expect(transcript.run([Sample.quick], ["--help"]) == .success)
    #expect(transcript.printed.contains("USAGE: benchmarks"))
    for option in ["--list", "--filter", "--samples", "--format"] {
      #expect(transcript.printed.contains(option))
    }
    #expect(transcript.complained.isEmpty)
  }

  @Test("a bad argument prints nothing, tells why on standard error and ends with 64")
  func badArgument() {
    let transcript = Transcript()
    #expect(transcript.run([Sample.quick], ["--format", "xml"]).rawValue == 64)
    #expect(transcript.printed.isEmpty)
    #expect(transcript.complained.contains("--format: \"xml\" is refused"))
    #expect(transcript.complained.contains("table, tsv, json"))
  }

  @Test("a filter that matches nothing is an error")
  func emptyFilter() {
    let transcript = Transcript()
    #expect(transcript.run([Sample.quick], ["--filter", "^quick"]) == .usage)
    #expect(transcript.complained.contains("--filter: \"^quick\" is refused"))
  }

  @Test("the list names what the filter takes, and runs nothing")
  func list() {
    let transcript = Transcript()
    let status = transcript.run([Sample.wrong, Sample.other], ["--list", "--filter", "^lock/"])
    #expect(status == .success)
    #expect(transcript.printed.contains("lock/wrong"))
    #expect(!transcript.printed.contains("loop/other"))
  }

  @Test("a wrong result ends with 1, named on standard error, and the others are reported")
  func wrongResult() {
    let transcript = Transcript()
    let status = transcript.run([Sample.wrong, Sample.quick], ["--smoke", "--format", "tsv"])
    #expect(status.rawValue == 1)
    #expect(
      transcript.complained.contains(
        "lock/wrong, ours: wrong result: the count is 3, expected 4"))
    #expect(transcript.printed.contains("lock/quick\tours\t"))
    #expect(!transcript.printed.contains("lock/wrong"))
  }

  @Test("the tab-separated form has one header line and one line of eight fields for each row")
  func tsv() throws {
    let transcript = Transcript()
    let status = transcript.run(
      [Sample.quick, Sample.other], ["--smoke", "--samples", "3", "--format", "tsv"])
    #expect(status == .success)
    #expect(transcript.printed.hasSuffix("\n"))
    let lines = transcript.printed.split(separator: "\n").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
    #expect(
      lines == [
        [
          "workload", "implementation", "threads", "items", "median_ns", "min_ns", "p99_ns",
          "ratio_to_ours",
        ],
        ["lock/quick", "ours", "1", "1", "10.000", "10.000", "10.000", "1.0000"],
        ["lock/quick", "pthread", "1", "1", "25.000", "25.000", "25.000", "2.5000"],
        ["loop/other", "dispatch", "2", "1", "7.000", "7.000", "7.000", ""],
      ])
  }

  @Test("the JSON form can be read back, and tells of machine and method")
  func json() throws {
    let transcript = Transcript()
    let status = transcript.run([Sample.quick, Sample.other], ["--smoke", "--format=json"])
    #expect(status == .success)
    let data = Data(transcript.printed.utf8)
    let document = try JSONDecoder().decode(JSONDocument.self, from: data)
    #expect(document.schema == "swift-threading benchmarks 1")
    #expect(document.rows.map(\.implementation) == ["ours", "pthread", "dispatch"])
    #expect(document.rows.map(\.ratioToOurs) == [1, 2.5, nil])
    #expect(document.method.samples == Plan.smoke.samples)
    #expect(document.machine.cores >= 1)
    #expect(document.machine.kernel.hasPrefix("Linux "))
    #expect(document.machine.libc.hasPrefix("glibc "))
    for text in [document.machine.cpu, document.machine.swift, document.machine.build] {
      #expect(!text.isEmpty)
    }
    #expect(try Date(document.machine.date, strategy: .iso8601).timeIntervalSinceNow > -600)

    // A row without a ratio has the field all the same.
    let any = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let rows = try #require(any["rows"] as? [[String: Any]])
    #expect(rows.allSatisfy { Set($0.keys) == Set(Row.columns) })
    #expect(rows[2]["ratio_to_ours"] is NSNull)
  }

  @Test("the table lines up")
  func table() throws {
    let transcript = Transcript()
    #expect(transcript.run([Sample.quick, Sample.other], ["--smoke"]) == .success)
    let lines = transcript.printed.split(separator: "\n").map(String.init)
    let header = try #require(lines.first { $0.hasPrefix("workload") })
    let rows = lines.filter { $0.hasPrefix("lock/") || $0.hasPrefix("loop/") }
    #expect(rows.count == 3)
    #expect(rows.allSatisfy { $0.count == header.count })
    let column = try #require(header.range(of: "implementation")).lowerBound
    let offset = header.distance(from: header.startIndex, to: column)
    #expect(rows[2].dropFirst(offset).hasPrefix("dispatch"))
  }

  @Test("progress is shown only where somebody watches")
  func progress() {
    let watched = Transcript()
    #expect(watched.run([Sample.quick], ["--smoke"], showsProgress: true) == .success)
    #expect(watched.complained.contains("[1/1] lock/quick"))
    // The line is gone at the end.
    #expect(watched.complained.hasSuffix("\r\u{1B}[K"))

    let unwatched = Transcript()
    #expect(unwatched.run([Sample.quick], ["--smoke"]) == .success)
    #expect(unwatched.complained.isEmpty)
  }
}

@Suite("Figures")
struct FiguresTests {
  @Test("whole numbers are grouped in threes")
  func grouped() {
    #expect(Figures.grouped(0) == "0")
    #expect(Figures.grouped(999) == "999")
    #expect(Figures.grouped(1_000) == "1,000")
    #expect(Figures.grouped(-1_234_567) == "-1,234,567")
  }

  @Test("times have the decimals that can matter")
  func forPeople() {
    #expect(Figures.forPeople(1.234) == "1.23")
    #expect(Figures.forPeople(9.996) == "10.0")
    #expect(Figures.forPeople(45.67) == "45.7")
    #expect(Figures.forPeople(99.96) == "100")
    #expect(Figures.forPeople(12_345.6) == "12,346")
  }
}
