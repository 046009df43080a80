import BenchmarkSupport
import Foundation
import Glibc
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@testable import benchmarks

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

@Suite("Program", .endsInTime)
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

  @Test("what the system refuses is told apart from a wrong result, and ends with 74")
  func refused() {
    let refused = Workload(
      "lock/refused", item: "one turn", threads: 1,
      [
        Implementation.ours { _ in
          throw ThreadingError(call: "pthread_create", code: 11, message: "no more threads")
        }
      ])
    let transcript = Transcript()
    #expect(transcript.run([refused, Sample.quick], ["--smoke"]) == .refused)
    #expect(transcript.complained.contains("lock/refused, ours: refused: "))
    #expect(Transcript().run([refused, Sample.wrong], ["--smoke"]) == .wrongResult)
  }

  @Test(
    "output that cannot be written is told and ends with 74, quietly where the reader has gone",
    arguments: [false, true])
  func unwritable(isReaderGone: Bool) throws {
    let scratch = try Scratch()
    let path = scratch.path("saved.tsv")
    let transcript = Transcript()
    let console = Console(
      print: { _ in }, complain: transcript.complain, showsProgress: false,
      problem: { Console.Problem(reason: "No space left on device", isReaderGone: isReaderGone) })
    let program = Program(catalogue: [Sample.quick], console: console)
    #expect(program.run(["--smoke", "--save", path]) == .refused)
    #expect(program.run(["--format", "xml"]) == .usage)
    let told = "benchmarks: standard output cannot be written: No space left on device"
    #expect(transcript.complained.contains(told) == !isReaderGone)
    // Files are another matter.
    #expect(FileManager.default.fileExists(atPath: path))
  }

  @Test("standard output that takes nothing, or has no reader, is noticed")
  func standardOutput() async {
    await #expect(processExitsWith: .success) {
      let console = Console.standard
      console.print("")
      precondition(console.problem() == nil)
      let full = unsafe open("/dev/full", O_WRONLY)
      dup2(full, STDOUT_FILENO)
      console.print("text")
      precondition(console.problem()?.isReaderGone == false)
      var ends: [CInt] = [0, 0]
      _ = unsafe pipe(&ends)
      close(ends[0])
      dup2(ends[1], STDOUT_FILENO)
      let other = Console.standard
      other.print("text")
      precondition(other.problem()?.isReaderGone == true)
    }
  }

  @Test("the tab-separated form has one header line and one line of fifteen fields for each row")
  func tsv() throws {
    let transcript = Transcript()
    let status = transcript.run(
      [Sample.quick, Sample.other], ["--smoke", "--samples", "3", "--format", "tsv"])
    #expect(status == .success)
    #expect(transcript.printed.hasSuffix("\n"))
    let lines = transcript.printed.split(separator: "\n").map {
      $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
    try #require(lines.count == 4)
    #expect(
      lines[0] == [
        "workload", "implementation", "unit", "threads", "items", "median", "min", "p99", "spread",
        "cpu_ns", "switches", "ratio_to_ours", "ratio_q1", "ratio_q3", "samples",
      ])
    let rows = lines.dropFirst().map { fields in
      // Processor time and switches are what they are.
      #expect(fields.count == 15)
      return Array(fields[..<9] + fields[11...])
    }
    let rest = ["0.0000"]
    #expect(
      rows == [
        ["lock/quick", "ours", "ns", "1", "1", "10.000", "10.000", "10.000"] + rest
          + ["1.0000", "1.0000", "1.0000", "1"],
        ["lock/quick", "pthread", "ns", "1", "1", "25.000", "25.000", "25.000"] + rest
          + ["2.5000", "2.5000", "2.5000", "1"],
        ["loop/other", "dispatch", "ns", "2", "1", "7.000", "7.000", "7.000"] + rest
          + ["", "", "", "1"],
      ])
  }

  @Test("the JSON form can be read back, and tells of machine and method")
  func json() throws {
    let transcript = Transcript()
    let status = transcript.run([Sample.quick, Sample.other], ["--smoke", "--format=json"])
    #expect(status == .success)
    let data = Data(transcript.printed.utf8)
    let document = try JSONDecoder().decode(JSONDocument.self, from: data)
    #expect(document.schema == "swift-threading benchmarks 3")
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
    #expect(rows[1]["samples"] as? [Double] == [25])
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

  @Test("the table of all workloads fits into 120 columns, whatever the figures are")
  func tableWidth() {
    let used = ProcessUsage(
      cpuNanoseconds: 123_456_000, voluntarySwitches: 12_345, involuntarySwitches: 0)
    let rows = Catalogue.all.flatMap { workload in
      workload.implementations.map {
        // Large figures, but not all of them at once: what takes long has few items.
        Row(
          of: $0, in: workload, items: 999_900,
          samples: (1...9).map { _ in
            benchmarks.Sample(value: 123_456_000, used: used, items: 1_000)
          },
          comparedTo: (1...9).map {
            benchmarks.Sample(value: $0 % 2 == 0 ? 200_000 : 400_000, used: used, items: 1_000)
          })
      }
    }
    let report = Report(machine: .current(), plan: .measuring(samples: 9), rows: rows)
    let lines = report.text(as: .table).split(separator: "\n").filter {
      $0.contains("/") && !$0.hasPrefix("  ")
    }
    #expect(lines.count >= rows.count)
    let longest = lines.map(\.count).max() ?? 0
    #expect(longest <= 120)
  }

  @Test("memory has a table of its own, in bytes")
  func memoryTable() throws {
    let memory = Workload(
      "memory/thing", item: "one thing", threads: 1, size: .fixed(10), unit: .bytes,
      [Implementation.ours { Int64($0) * 100 }, Implementation("rival") { Int64($0) * 250 }])
    let transcript = Transcript()
    #expect(transcript.run([Sample.quick, memory], ["--smoke"]) == .success)
    let lines = transcript.printed.split(separator: "\n").map(String.init)
    let times = try #require(lines.firstIndex { $0.hasPrefix("workload") })
    let bytes = try #require(lines.firstIndex { $0.hasPrefix("memory of") })
    #expect(times < bytes)
    let rival = try #require(lines[bytes...].first { $0.contains("rival") })
    #expect(rival.contains("250") && rival.hasSuffix("2.50"))
  }

  @Test("rows that are too noisy are marked, and named in a warning")
  func noise() {
    let count = Locked(0)
    let box = NoisyBox(count: count)
    let noisy = Workload(
      "lock/noisy", item: "one turn", threads: 1, size: .fixed(10),
      [Implementation.ours { Int64($0) * 10 }, Implementation("rival") { _ in box.next() }])
    let transcript = Transcript()
    #expect(transcript.run([noisy, Sample.quick], ["--quick", "--samples", "9"]) == .success)
    #expect(transcript.printed.contains("TOO NOISY TO CONCLUDE"))
    #expect(transcript.printed.contains("  lock/noisy, rival\n"))
    #expect(!transcript.printed.contains("  lock/quick, pthread\n"))

    let forPrograms = Transcript()
    #expect(
      forPrograms.run([noisy], ["--quick", "--samples=9", "--format=tsv"]) == .success)
    #expect(!forPrograms.printed.contains("TOO NOISY"))
    #expect(forPrograms.complained.contains("TOO NOISY TO CONCLUDE"))
  }

  /// Long enough for a batch, and now 10, now 20 ms.
  private final class NoisyBox: Sendable {
    let count: Locked<Int>

    init(count: consuming Locked<Int>) { self.count = count }

    func next() -> Int64 {
      count.withLock {
        $0 += 1
        return $0 % 2 == 0 ? 10_000_000 : 20_000_000
      }
    }
  }

  @Test("progress is shown only where somebody watches")
  func progress() {
    let watched = Transcript()
    #expect(watched.run([Sample.quick], ["--smoke"], showsProgress: true) == .success)
    #expect(watched.complained.contains("% lock/quick"))
    // The line is gone at the end.
    #expect(watched.complained.hasSuffix("\r\u{1B}[K"))

    let unwatched = Transcript()
    #expect(unwatched.run([Sample.quick], ["--smoke"]) == .success)
    #expect(unwatched.complained.isEmpty)
  }
}

@Suite("Figures", .endsInTime)
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

  @Test("counts take at most five characters")
  func compact() {
    #expect(Figures.compact(0) == "0")
    #expect(Figures.compact(999) == "999")
    #expect(Figures.compact(1_000) == "1k")
    #expect(Figures.compact(67_609) == "67.6k")
    #expect(Figures.compact(100_000) == "100k")
    #expect(Figures.compact(1_209_999) == "1.21M")
    #expect(Figures.compact(2_000_000_000) == "2G")
    for exponent in 0..<30 { #expect(Figures.compact((1 << exponent) - 1).count <= 5) }
  }
}
