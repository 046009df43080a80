import BenchmarkSupport
import Foundation
import TestSupport
import Testing
import ThreadingPlatform

@testable import benchmarks

@Suite("The page", .endsInTime)
struct PageTests {
  private static let quick = Workload(
    "lock/quick", item: "one <turn> & \"more\"", threads: 1, scales: true,
    [
      Implementation.ours { Int64($0) * 10 }, Implementation("pthread") { Int64($0) * 25 },
      Implementation("kernel") { Int64($0) * 5 },
    ])
  private static let memory = Workload(
    "memory/thing", item: "a thing", threads: 1, size: .fixed(10), unit: .bytes,
    [Implementation.ours { Int64($0) * 2_048 }, Implementation("rival") { Int64($0) * 1_024 }])

  private func page(_ arguments: [String]) throws -> String {
    let scratch = try Scratch()
    let path = scratch.path("page.html")
    let transcript = Transcript()
    let status = transcript.run(
      [Self.quick, Self.memory], ["--smoke", "--report", path] + arguments)
    #expect(status == .success)
    return try String(contentsOfFile: path, encoding: .utf8)
  }

  @Test("needs nothing from elsewhere, and no script")
  func selfContained() throws {
    let text = try page(["--scale"])
    for outside in ["http", "//", "<script", "src=", "@import", "url(", "<link", "<img"] {
      #expect(!text.contains(outside), "\(outside)")
    }
    #expect(text.contains("name=\"viewport\""))
    #expect(text.contains("prefers-color-scheme: dark"))
  }

  @Test("every element that is opened is closed, in order")
  func balanced() throws {
    let text = try page(["--scale"])
    let empty: Set<String> = ["meta", "br", "!DOCTYPE"]
    var open: [String] = []
    for match in text.matches(of: /<(\/?)([!A-Za-z0-9]+)[^>]*?(\/?)>/) {
      let name = String(match.2)
      if !match.3.isEmpty || empty.contains(name) { continue }
      if match.1.isEmpty {
        open.append(name)
      } else {
        #expect(open.popLast() == name)
      }
    }
    #expect(open.isEmpty)
  }

  @Test("has a bar for each ratio, a dot for each sample, and the figures as text")
  func content() throws {
    let text = try page([])
    #expect(text.matches(of: /class="bar"/).count == 5)
    #expect(text.matches(of: /class="dot"/).count == 5)
    #expect(text.contains("one &lt;turn&gt; &amp; &quot;more&quot;"))
    #expect(text.contains("<b>25.0 ns</b> <i>2.50×</i>"))
    #expect(text.contains("<b>2.00 KiB</b>"))
    #expect(text.contains("<div class=\"row behind\""))
    #expect(text.contains("<div class=\"row ahead\""))
    #expect(!text.contains("id=\"growth\""))
    #expect(text.contains(Machine.current().kernel))
  }

  @Test("has curves with their exponents where growth was measured")
  func growth() throws {
    let text = try page(["--scale"])
    #expect(text.contains("id=\"growth\""))
    #expect(text.matches(of: /class="curve c[0-9]"/).count == 3)
    #expect(text.contains("exponent 1.00"))
    // The bars are there all the same.
    #expect(text.matches(of: /class="bar"/).count == 5)
  }

  @Test("a bar ends where its ratio is, and stays on the page where that is too large")
  func bars() throws {
    let used = ProcessUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0)
    func row(_ name: String, _ value: Int64) -> Row {
      Row(
        of: Implementation(name) { _ in 0 }, in: Self.quick, items: 1,
        samples: [benchmarks.Sample(value: value, used: used, items: 1)],
        comparedTo: [benchmarks.Sample(value: 100, used: used, items: 1)])
    }
    let chart = WorkloadChart(rows: [row("ours", 100), row("slow", 1_000_000), row("half", 50)])
    let bar = /class="bar" x="([0-9.]+)%" width="([0-9.]+)%"/
    let slow = try #require(chart.line(row("slow", 1_000_000)).firstMatch(of: bar))
    let start = try #require(Double(slow.1))
    let end = start + (try #require(Double(slow.2)))
    #expect(abs(end - 100) < 0.1)
    #expect(chart.line(row("slow", 1_000_000)).contains("▸"))
    // Half ends left of ours, where slow begins.
    let half = try #require(chart.line(row("half", 50)).firstMatch(of: bar))
    let one = try #require(Double(half.1)) + (try #require(Double(half.2)))
    #expect(abs(one - start) < 0.1)
  }
}

@Suite("Logarithmic scales", .endsInTime)
struct LogScaleTests {
  @Test("equal factors are equal distances")
  func places() {
    let scale = LogScale(from: 1, to: 100)
    #expect(scale.place(of: 1) == 0)
    #expect(abs(scale.place(of: 10) - 0.5) < 1e-12)
    #expect(scale.place(of: 100) == 1)
    #expect(scale.place(of: 1_000) == 1)
    #expect(scale.place(of: 0) == 0)
  }

  @Test("ticks are round, inside, and not more than there is room for")
  func ticks() {
    #expect(LogScale(from: 0.4, to: 12).ticks(atMost: 7) == [0.5, 1, 2, 5, 10])
    #expect(LogScale(from: 1, to: 1e9).ticks(atMost: 4).count <= 4)
    for exponent in 1...12 {
      let scale = LogScale(from: 0.03, to: pow(10, Double(exponent)))
      let ticks = scale.ticks(atMost: 6)
      #expect(!ticks.isEmpty && ticks.count <= 6)
      #expect(ticks.allSatisfy(scale.contains))
    }
  }

  @Test("values that are all the same, or none, have a scale all the same")
  func degenerate() {
    #expect(LogScale(around: [5, 5]).contains(5))
    #expect(LogScale(around: []).contains(1))
    #expect(LogScale(around: [0, 7]).contains(7))
  }

  @Test("amounts have a unit that suits them")
  func amounts() {
    #expect(Figures.amount(9.53, .nanoseconds) == "9.53 ns")
    #expect(Figures.amount(18_139, .nanoseconds) == "18.1 µs")
    #expect(Figures.amount(999_990, .nanoseconds) == "1.00 ms")
    #expect(Figures.amount(2.5e9, .nanoseconds) == "2.50 s")
    #expect(Figures.amount(144, .bytes) == "144 B")
    #expect(Figures.amount(9_622, .bytes) == "9.40 KiB")
    #expect(WorkloadChart.tick(0.5) == "0.5×")
    #expect(WorkloadChart.tick(100) == "100×")
  }
}
