import BenchmarkSupport
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@testable import benchmarks

/// Batches that write down that they ran and say they took what the test wants.
private final class Script: Sendable {
  let calls = Locked<[String]>([])

  func implementation(
    _ name: String, nanoseconds: @escaping @Sendable (_ items: Int) -> Int64
  ) -> Implementation {
    Implementation(name) { items in
      self.calls.withLock { $0.append(name) }
      return nanoseconds(items)
    }
  }

  var called: [String] { calls.withLock { $0 } }
}

private func runner(_ plan: Plan, _ interruption: Interruption = Interruption()) -> Runner {
  let console = Console(print: { _ in }, complain: { _ in }, showsProgress: false)
  return Runner(
    plan: plan, progress: ProgressLine(console: console, steps: 1), interruption: interruption,
    ledger: Ledger())
}

@Suite("Runner", .endsInTime)
struct RunnerTests {
  @Test("samples take turns, each round starting one further")
  func turns() throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      ["x", "y", "z"].map { script.implementation($0) { _ in 100 } })
    let plan = Plan(samples: 4, shortestBatch: 0, largestRound: .max, warmUps: 0)
    _ = try runner(plan).measure(workload)
    // The first three calls calibrate.
    #expect(script.called.dropFirst(3).joined() == "xyzyzxzxyxyz")
  }

  @Test("each implementation is warmed up before any sample counts")
  func warmUp() throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      ["x", "y"].map { script.implementation($0) { _ in 100 } })
    let plan = Plan(samples: 1, shortestBatch: 0, largestRound: .max, warmUps: 2)
    let rows = try runner(plan).measure(workload)
    // Calibration, two rounds of warming up, one sample.
    #expect(script.called.joined() == "xyxyyxxy")
    #expect(rows.count == 2)
  }

  @Test("batches grow until they are long enough, for each implementation by itself")
  func calibration() throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      [
        script.implementation("ours") { Int64($0) * 10 },
        script.implementation("slow") { Int64($0) * 100_000 },
      ])
    let plan = Plan(samples: 3, shortestBatch: 1_000_000, largestRound: .max, warmUps: 0)
    let rows = try runner(plan).measure(workload)
    try #require(rows.count == 2)
    #expect((100_000...200_000).contains(rows[0].items))
    #expect((10...20).contains(rows[1].items))
    #expect(rows[0].median == 10)
    #expect(rows[1].median == 100_000)
    #expect(rows[1].ratioToOurs == 10_000)
  }

  @Test("slow batches do not end the calibration", arguments: [2...2, 2...4, 1...3])
  func disturbedCalibration(_ disturbed: ClosedRange<Int>) throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      [
        script.implementation("ours") { items in
          // Somebody else had the processor during these calls.
          disturbed.contains(script.called.count) ? 5_000_000 : Int64(items) * 10
        }
      ])
    let plan = Plan(samples: 1, shortestBatch: 1_000_000, largestRound: .max, warmUps: 0)
    let row = try #require(try runner(plan).measure(workload).first)
    #expect((100_000...200_000).contains(row.items))
  }

  @Test("a fixed number of items is kept, and repeated to make a batch long enough")
  func fixedSize() throws {
    let sizes = Locked<Set<Int>>([])
    let recorded = Recorder(sizes: sizes)
    let workload = Workload(
      "a/b", item: "nothing", threads: 1, size: .fixed(1_000),
      [Implementation("ours") { recorded.batch($0) }])
    let plan = Plan(samples: 2, shortestBatch: 50_000, largestRound: .max, warmUps: 0)
    let rows = try runner(plan).measure(workload)
    #expect(recorded.seen == [1_000])
    #expect(rows[0].items.isMultiple(of: 1_000))
    #expect((5_000...8_000).contains(rows[0].items))
    #expect(rows[0].median == 10)

    let small = try runner(.smoke).measure(workload)
    #expect(small[0].items == Plan.smoke.largestRound)
  }

  private final class Recorder: Sendable {
    let sizes: Locked<Set<Int>>

    init(sizes: consuming Locked<Set<Int>>) { self.sizes = sizes }

    func batch(_ items: Int) -> Int64 {
      sizes.withLock { _ = $0.insert(items) }
      return Int64(items) * 10
    }

    var seen: Set<Int> { sizes.withLock { $0 } }
  }

  @Test("the ratio is the median of the ratios of each round, so drift does not count")
  func pairedRatio() throws {
    // Ratios 2, 0.5 and 3. The medians of the two series, 100 and 50, would say 0.5.
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      [
        replaying("ours", [10, 100, 1_000]),
        replaying("rival", [20, 50, 3_000]),
      ])
    let plan = Plan(samples: 3, shortestBatch: 0, largestRound: .max, warmUps: 0)
    let rows = try runner(plan).measure(workload)
    #expect(rows[0].ratioToOurs == 1)
    #expect(rows[0].median == 100)
    #expect(rows[1].ratioToOurs == 2)
    #expect(rows[1].median == 50)
  }

  /// Says that its samples took the given times, after one call to calibrate.
  private func replaying(_ name: String, _ nanoseconds: [Int64]) -> Implementation {
    let script = Script()
    return Implementation(name) { _ in
      let calls = script.calls.withLock { list in
        list.append(name)
        return list.count
      }
      return calls == 1 ? 1 : nanoseconds[calls - 2]
    }
  }

  @Test("a workload without ours has no ratio")
  func noOurs() throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 2, [script.implementation("pthread") { _ in 5 }])
    let row = try #require(try runner(.smoke).measure(workload).first)
    #expect(row.ratioToOurs == nil)
    #expect(row.threads == 2)
  }

  @Test("nothing is no measure for something, and the same as nothing")
  func nothing() throws {
    let workload = Workload(
      "a/b", item: "nothing", threads: 1, size: .fixed(1), unit: .wakeUps,
      [
        Implementation.ours { _ in 0 }, Implementation("none") { _ in 0 },
        Implementation("some") { _ in 7 },
      ])
    let rows = try runner(.smoke).measure(workload)
    #expect(rows.map(\.ratioToOurs) == [1, 1, nil])
    #expect(rows.map(\.median) == [0, 0, 7])
    let report = Report(machine: .current(), plan: .smoke, rows: rows)
    let table = report.text(as: .table)
    #expect(table.contains("wake-ups of") && table.contains("7.00") && !table.contains("cpu  "))
    #expect(Page(report: report, items: ["a/b": "nothing"]).text.contains("7.00 wake-ups"))
  }

  @Test("a wrong result is a failure that names workload and implementation; others go on")
  func wrongResult() {
    let script = Script()
    let bad = Workload(
      "area/bad", item: "nothing", threads: 1,
      [
        script.implementation("ours") { _ in 1 },
        Implementation("broken") { items in
          try WrongResult.unless("the count", items + 1, is: items)
          return 1
        },
      ])
    let good = Workload(
      "area/good", item: "nothing", threads: 1, [script.implementation("ours") { _ in 1 }])
    let measuring = runner(.smoke)
    measuring.measure([bad, good])
    let outcome = measuring.ledger.outcome
    #expect(outcome.rows.map(\.workload) == ["area/good"])
    #expect(
      outcome.failures.map(\.description) == [
        "area/bad, broken: wrong result: the count is 2, expected 1"
      ])
  }

  @Test("processor time and switches are those of the samples, for an item")
  func usage() throws {
    let sleepy = Implementation("ours") { items in
      for _ in 0..<items { SystemThread.sleep(until: .now.advanced(by: .microseconds(200))) }
      return Int64(items)
    }
    let busy = Implementation("busy") { items in
      let start = ProcessUsage.now().cpuNanoseconds
      while ProcessUsage.now().cpuNanoseconds - start < Int64(items) * 1_000_000 {}
      return Int64(items)
    }
    let workload = Workload("a/b", item: "nothing", threads: 1, size: .fixed(10), [sleepy, busy])
    let plan = Plan(samples: 3, shortestBatch: 0, largestRound: .max, warmUps: 0)
    let rows = try runner(plan).measure(workload)
    try #require(rows.count == 2)
    // Other tests run at the same time, so there are lower bounds only.
    #expect(rows[0].switches >= 1)
    #expect(rows[1].cpuNanoseconds >= 1_000_000)
  }

  @Test("an interruption leaves the finished rounds, the same number for each")
  func interruptedRounds() throws {
    let script = Script()
    let interruption = Interruption()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      ["ours", "rival"].map { name in
        script.implementation(name) { _ in
          // Two calls calibrate. Of the third round only one sample is taken.
          if script.called.count == 7 { interruption.request(by: 2) }
          return 10
        }
      })
    let plan = Plan(samples: 50, shortestBatch: 0, largestRound: .max, warmUps: 0)
    let rows = try runner(plan, interruption).measure(workload)
    #expect(script.called.count == 7)
    #expect(rows.map(\.samples) == [[10, 10], [10, 10]])
  }

  @Test("an interruption before the first round is over leaves nothing, and no workload follows")
  func interruptedAtOnce() {
    let script = Script()
    let interruption = Interruption()
    let implementation = script.implementation("ours") { _ in
      interruption.request(by: 2)
      return 10
    }
    let workloads = ["a/b", "a/c"].map {
      Workload($0, item: "nothing", threads: 1, [implementation])
    }
    let measuring = runner(.smoke, interruption)
    measuring.measure(workloads)
    #expect(measuring.ledger.outcome.rows.isEmpty)
    // One to calibrate, and none after.
    #expect(script.called.count == 1)
  }

  @Test("rows of a workload that is measured again take the place of the older ones")
  func again() {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1, [script.implementation("ours") { _ in 1 }])
    let measuring = runner(.smoke)
    measuring.measure([workload])
    measuring.measure([workload])
    #expect(measuring.ledger.outcome.rows.count == 1)
  }
}

@Suite("Rows", .endsInTime)
struct RowTests {
  /// A row of the given values, beside ours that always takes 10.
  private func row(_ values: [Double], besideOurs: Bool = true) -> Row {
    let workload = Workload("a/b", item: "nothing", threads: 1, [])
    func sample(_ value: Double) -> Sample {
      Sample(
        value: Int64(value * 10),
        used: ProcessUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0),
        items: 10)
    }
    return Row(
      of: Implementation("rival") { _ in 0 }, in: workload, items: 10,
      samples: values.map(sample),
      comparedTo: besideOurs ? values.map { _ in sample(10) } : nil)
  }

  @Test("a row is noisy when half of its ratios lie further apart than the factor allows")
  func noise() {
    #expect(!row([10, 10, 11, 12, 12]).isNoisy)
    #expect(row([10, 10, 11, 14, 14]).isNoisy)
    // One outlier on each side does not make it so.
    #expect(!row([1, 10, 11, 12, 90]).isNoisy)
    #expect(row([10, 10, 11, 14, 14], besideOurs: false).isNoisy)
    #expect(!row([10, 10, 11, 12, 12], besideOurs: false).isNoisy)
  }

  @Test("few samples are not judged")
  func fewSamples() {
    #expect(!row([1, 10, 100, 1_000]).isNoisy)
  }

  @Test("a machine that drifts does not make a row noisy: the ratios stay")
  func drift() {
    let workload = Workload("a/b", item: "nothing", threads: 1, [])
    let none = ProcessUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0)
    let series = (1...9).map { Sample(value: Int64($0) * 100, used: none, items: 1) }
    let row = Row(
      of: Implementation("rival") { _ in 0 }, in: workload, items: 1, samples: series,
      comparedTo: series)
    #expect(!row.isNoisy)
    #expect(row.spread > 0.5)
    #expect(row.ratioToOurs == 1)
  }

  @Test("the ratio of nothing to nothing is 1, that of something to nothing is none")
  func zero() {
    let workload = Workload("a/b", item: "nothing", threads: 1, [])
    let none = ProcessUsage(cpuNanoseconds: 0, voluntarySwitches: 0, involuntarySwitches: 0)
    let nothing = Sample(value: 0, used: none, items: 1)
    let something = Sample(value: 5, used: none, items: 1)
    func ratio(_ sample: Sample) -> Double? {
      Row(
        of: Implementation("rival") { _ in 0 }, in: workload, items: 1, samples: [sample],
        comparedTo: [nothing]
      ).ratioToOurs
    }
    #expect(ratio(nothing) == 1)
    #expect(ratio(something) == nil)
  }
}
