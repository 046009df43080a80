import BenchmarkSupport
import Foundation
import Glibc
import TestSupport
import Testing
import ThreadingLocks

@testable import thread_cost

/// Whether the process runs under the thread sanitizer, which does not see the order that Dispatch
/// and Foundation make.
private let underThreadSanitizer = ThreadSanitizer.isActive

@Suite("thread-cost", .endsInTime)
struct ThreadCostTests {
  private func run(_ arguments: [String]) -> (CostProgram.ExitStatus, Transcript) {
    let transcript = Transcript()
    let console = Console(
      print: transcript.print, complain: transcript.complain, showsProgress: false)
    return (CostProgram(console: console).run(arguments), transcript)
  }

  @Test("options are taken, with their values next or after an equals sign")
  func options() throws {
    let options = try CostOptions(["--threads", "20", "--samples=3", "--format", "tsv"])
    #expect(options.threads == 20)
    #expect(options.samples == 3)
    #expect(options.format == .tsv)
    #expect(try CostOptions(["-h"]).wantsHelp)
  }

  @Test(
    "a bad argument is named with its value and what is allowed, and ends with 64",
    arguments: [
      (["--threads", "9"], "--threads: \"9\" is refused; allowed is a whole number from 10"),
      (["--threads=+50"], "--threads: \"+50\" is refused; allowed is a whole number"),
      (["--samples"], "--samples: no value given; allowed is a whole number from 1 to 1000"),
      (["--samples=1001"], "--samples: \"1001\" is refused"),
      (["--format", "xml"], "--format: \"xml\" is refused; allowed is table, tsv, json"),
      (["--help=now"], "--help: \"now\" is refused; allowed is no value"),
      (["--stack"], "argument: \"--stack\" is refused; allowed is --threads, --samples"),
      (["--samples=1", "--samples=2"], "--samples: \"--samples=2\" is refused; allowed is to"),
    ])
  func refusals(arguments: [String], message: String) {
    let (status, transcript) = run(arguments)
    #expect(status.rawValue == 64)
    #expect(transcript.printed.isEmpty)
    #expect(transcript.complained.contains("thread-cost: " + message), "\(transcript.complained)")
  }

  @Test("help names every option")
  func help() {
    let (status, transcript) = run(["--help"])
    #expect(status == .success)
    for option in ["--threads", "--samples", "--format", "--help"] {
      #expect(transcript.printed.contains(option))
    }
  }

  @Test(
    "every kind has its figures, and they are of the right size",
    .disabled(if: underThreadSanitizer), .endsInTime)
  func figures() async {
    // In a process of its own: other tests take and give back memory as well.
    await #expect(processExitsWith: .success) { try ThreadCostTests().checkFigures() }
  }

  fileprivate func checkFigures() throws {
    let (status, transcript) = run(["--threads", "10", "--samples", "1", "--format", "json"])
    try #require(status == .success)
    let document = try JSONDecoder().decode(CostDocument.self, from: Data(transcript.printed.utf8))
    let threads = ["pthread", "PosixThread", "FoundationThread", "Foundation"]
    func value(_ cost: String, _ kind: String) throws -> Double {
      try #require(document.costs.first { $0.cost == cost && $0.kind == kind }).median
    }
    for kind in threads {
      // Addresses are given out as asked for: the stack and its guard.
      #expect(try value("address space, usual stack", kind) > Double(4 << 20))
    }
    for kind in threads + ["Dispatch"] {
      #expect(try value("start and join", kind) > 0)
      #expect(
        try value("start, until the thread runs", kind) <= value("start and join", kind))
      #expect(try value("end, until it is joined", kind) <= value("start and join", kind))
    }
    for place in ["one processor", "two processors"] {
      #expect(try value("switch to a thread that waits, \(place)", "PosixThread") > 0)
    }
    #expect(!document.costs.contains { $0.kind == "Dispatch" && $0.unit == .bytes })
  }

  @Test("the table and the tab-separated form line up")
  func forms() throws {
    let statistics = Statistics(of: [2_048, 4_096, 1_024])
    let table = CostTable(
      machine: .current(), options: try CostOptions([]),
      costs: [
        Cost(name: "resident memory", unit: .bytes, values: ["pthread": statistics]),
        Cost(name: "start", unit: .nanoseconds, values: ["Dispatch": statistics]),
      ])
    let lines = table.text(as: .table).split(separator: "\n").map(String.init)
    let memory = try #require(lines.first { $0.hasPrefix("resident memory") })
    #expect(memory.split(separator: " ").suffix(6) == ["2.00", "KiB", "-", "-", "-", "-"])
    #expect(
      table.text(as: .tsv) == """
        cost\tkind\tunit\tmedian\tmin\tp99
        resident memory\tpthread\tbytes\t2048.0\t1024.0\t4096.0
        start\tDispatch\tns\t2048.0\t1024.0\t4096.0

        """)
  }

  @Test("the kernel's figures are read in bytes; what is not there is 0")
  func kernelFigures() {
    let text = "MemTotal:  100 kB\nKernelStack:     2912 kB\nHugePages_Total:       3\nBad: x kB\n"
    #expect(KernelFigures.bytes(of: "KernelStack:", inText: text) == 2_912 * 1_024)
    #expect(KernelFigures.bytes(of: "HugePages_Total:", inText: text) == 3)
    #expect(KernelFigures.bytes(of: "Bad:", inText: text) == 0)
    #expect(KernelFigures.bytes(of: "VmPTE:", inText: text) == 0)
    #expect(KernelFigures.bytes(of: "KernelStack:", in: "/proc/meminfo") > 0)
  }
}
