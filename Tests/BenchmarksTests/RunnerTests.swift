import Testing
import ThreadingLocks

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

private func runner(_ plan: Plan) -> Runner {
  let console = Console(print: { _ in }, complain: { _ in }, showsProgress: false)
  return Runner(plan: plan, progress: ProgressLine(console: console, workloads: 1))
}

@Suite("Runner")
struct RunnerTests {
  @Test("samples take turns, each round starting one further")
  func turns() throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      ["x", "y", "z"].map { script.implementation($0) { _ in 100 } })
    let plan = Plan(samples: 4, shortestBatch: 0, largestRound: .max, warmUps: 0)
    _ = try runner(plan).measure(workload)
    // The first six calls calibrate, two for each.
    #expect(script.called.dropFirst(6).joined() == "xyzyzxzxyxyz")
  }

  @Test("each implementation is warmed up before any sample counts")
  func warmUp() throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      ["x", "y"].map { script.implementation($0) { _ in 100 } })
    let plan = Plan(samples: 1, shortestBatch: 0, largestRound: .max, warmUps: 2)
    let rows = try runner(plan).measure(workload)
    // Calibration (twice each), two rounds of warming up, one sample.
    #expect(script.called.joined() == "xxyyxyyxxy")
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
    #expect(rows[0].medianNanoseconds == 10)
    #expect(rows[1].medianNanoseconds == 100_000)
    #expect(rows[1].ratioToOurs == 10_000)
  }

  @Test("one slow batch does not end the calibration")
  func disturbedCalibration() throws {
    let script = Script()
    let workload = Workload(
      "a/b", item: "nothing", threads: 1,
      [
        script.implementation("ours") { items in
          // Somebody else had the processor during the second call.
          script.called.count == 2 ? 5_000_000 : Int64(items) * 10
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
    #expect(rows[0].medianNanoseconds == 10)

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
    #expect(rows[0].medianNanoseconds == 100)
    #expect(rows[1].ratioToOurs == 2)
    #expect(rows[1].medianNanoseconds == 50)
  }

  /// Says that its samples took the given times, after two calls to calibrate.
  private func replaying(_ name: String, _ nanoseconds: [Int64]) -> Implementation {
    let script = Script()
    return Implementation(name) { _ in
      let calls = script.calls.withLock { list in
        list.append(name)
        return list.count
      }
      return calls <= 2 ? 1 : nanoseconds[calls - 3]
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
    let outcome = runner(.smoke).measure([bad, good])
    #expect(outcome.rows.map(\.workload) == ["area/good"])
    #expect(
      outcome.failures.map(\.description) == [
        "area/bad, broken: wrong result: the count is 2, expected 1"
      ])
  }
}
