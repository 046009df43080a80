import BenchmarkSupport
import Foundation
import TestSupport
import Testing

@testable import benchmarks

@Suite("Growth", .endsInTime)
struct GrowthTests {
  private func growth(_ values: [(Int, Double)]) -> Growth {
    Growth(
      workload: "a/b", implementation: "ours", unit: .nanoseconds,
      points: values.map { Growth.Point(items: $0.0, value: $0.1) })
  }

  @Test("the exponent is that of the time for all items")
  func exponents() throws {
    let flat = growth([(1_000, 50), (10_000, 50), (100_000, 50)])
    #expect(abs(try #require(flat.exponent) - 1) < 1e-9)
    let quadratic = growth([(1_000, 3), (10_000, 30), (100_000, 300)])
    #expect(abs(try #require(quadratic.exponent) - 2) < 1e-9)
    // Least squares: log-values 0, 1, 1 over 0, 1, 2 have the slope one half.
    let bent = growth([(10, 1), (100, 1), (1_000, 0.1)])
    #expect(abs(try #require(bent.exponent) - 0.5) < 1e-9)
  }

  @Test("one size has no exponent, nor has a time of 0")
  func tooFew() {
    #expect(growth([(1_000, 5)]).exponent == nil)
    #expect(growth([]).exponent == nil)
    #expect(growth([(1_000, 0), (10_000, 5)]).exponent == nil)
  }

  private func runner(_ sizes: [Int], longest: Int64) -> ScaleRunner {
    var plan = Plan.measuring(samples: 3)
    plan.longestBatch = longest
    let console = Console(print: { _ in }, complain: { _ in }, showsProgress: false)
    return ScaleRunner(
      plan: plan, sizes: sizes, progress: ProgressLine(console: console, steps: 1),
      interruption: Interruption(), ledger: Ledger())
  }

  @Test("each implementation is measured at each size, as long as that does not take too long")
  func sizes() throws {
    let workload = Workload(
      "a/b", item: "nothing", threads: 1, size: .fixed(10), scales: true,
      [
        Implementation.ours { Int64($0) * 10 },
        Implementation("quadratic") { Int64($0) * Int64($0) },
      ])
    let runner = runner([10, 100, 1_000, 10_000], longest: 2_000_000)
    runner.measure([workload])
    let growth = runner.ledger.outcome.growth
    try #require(growth.count == 2)
    #expect(growth[0].points.map(\.items) == [10, 100, 1_000, 10_000])
    #expect(growth[0].points.map(\.value) == [10, 10, 10, 10])
    #expect(abs(try #require(growth[0].exponent) - 1) < 1e-9)
    // 10,000 of them would take 100 ms.
    #expect(growth[1].points.map(\.items) == [10, 100, 1_000])
    #expect(abs(try #require(growth[1].exponent) - 2) < 1e-9)
  }

  @Test("a size with a wrong result is told, and the sizes before it are kept")
  func wrongAtOneSize() {
    let workload = Workload(
      "a/b", item: "nothing", threads: 1, size: .fixed(10), scales: true,
      [
        Implementation.ours { Int64($0) * 10 },
        Implementation("breaks") { items in
          try WrongResult.unless("the most", max(items, 100), is: 100)
          return Int64(items)
        },
      ])
    let runner = runner([10, 100, 1_000, 10_000], longest: 2_000_000)
    runner.measure([workload])
    let outcome = runner.ledger.outcome
    #expect(outcome.growth.map(\.implementation) == ["ours", "breaks"])
    #expect(outcome.growth.allSatisfy { $0.points.map(\.items) == [10, 100] })
    #expect(
      outcome.failures.map(\.description) == [
        "a/b, breaks: wrong result: the most is 1000, expected 100"
      ])
  }

  @Test("the forecast goes on as the last step went, and never comes back to a size left out")
  func forecast() {
    #expect(ScaleRunner.forecast([], 1_000) == 0)
    let one = [Growth.Point(items: 1_000, value: 5)]
    #expect(ScaleRunner.forecast(one, 10_000) == 50_000)
    let two = [Growth.Point(items: 100, value: 1), Growth.Point(items: 1_000, value: 10)]
    #expect(ScaleRunner.forecast(two, 10_000) == 1_000_000)
    #expect(ScaleRunner.forecast(two, 100_000) == .infinity)
  }

  @Test("growth alone is printed, of the workloads that can grow, in all formats")
  func program() throws {
    let growing = Workload(
      "loop/growing", item: "one", threads: 1, size: .fixed(10), scales: true,
      [Implementation.ours { Int64($0) * 10 }])
    let other = Workload("loop/other", item: "one", threads: 1, [Implementation.ours { _ in 1 }])
    let table = Transcript()
    #expect(table.run([growing, other], ["--smoke", "--scale"]) == .success)
    let line = try #require(table.printed.split(separator: "\n").first { $0.hasPrefix("loop/g") })
    #expect(line.hasSuffix("1.00"))
    #expect(!table.printed.contains("loop/other"))

    let tsv = Transcript()
    #expect(tsv.run([growing, other], ["--smoke", "--scale", "--format=tsv"]) == .success)
    #expect(
      tsv.printed == """
        workload\timplementation\tunit\titems\tmedian\texponent
        loop/growing\tours\tns\t10\t10.000\t1.0000
        loop/growing\tours\tns\t100\t10.000\t1.0000

        """)

    let json = Transcript()
    #expect(json.run([growing, other], ["--smoke", "--scale", "--format=json"]) == .success)
    let document = try JSONDecoder().decode(JSONDocument.self, from: Data(json.printed.utf8))
    #expect(document.growth.map(\.points.count) == [2])
    #expect(document.rows.isEmpty)

    let none = Transcript()
    #expect(none.run([other], ["--smoke", "--scale"]) == .usage)
    #expect(none.complained.contains("only with workloads that can grow"))
  }

  @Test("workloads that exist for any number of threads are made for those that are asked for")
  func threads() {
    let asked = Catalogue.workloads(threads: [3, 5])
    let contended = asked.filter { $0.family == "lock/contended" }
    #expect(contended.map(\.name) == ["lock/contended-3", "lock/contended-5"])
    #expect(contended.map(\.threads) == [3, 5])
    #expect(Set(asked.map(\.name)).count == asked.count)

    let transcript = Transcript()
    let fixed = Workload("a/b", item: "one", threads: 1, [Implementation.ours { _ in 1 }])
    #expect(transcript.run([fixed], ["--smoke", "--threads", "3"]) == .usage)
    #expect(transcript.complained.contains("--threads: \"3\" is refused"))
  }
}
