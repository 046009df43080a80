import BenchmarkSupport

/// Measures workloads at growing numbers of items.
struct ScaleRunner: Sendable {
  /// The numbers of items, 10^3 to 10^6.
  static let sizes = [1_000, 10_000, 100_000, 1_000_000]

  let plan: Plan
  let sizes: [Int]
  let progress: ProgressLine
  let interruption: Interruption
  let ledger: Ledger

  /// Measures workload after workload, going on to the next where one fails, until all are done or
  /// an interruption is asked for.
  func measure(_ workloads: [Workload]) {
    for workload in workloads {
      if interruption.requested != nil { break }
      progress.begins(workload.name)
      var points = workload.implementations.map { _ in [Growth.Point]() }
      do throws(Ledger.Failure) {
        try measure(workload, &points)
      } catch {
        ledger.note(error)
      }
      // What was measured before a failure, or an interruption, holds.
      ledger.note(Self.growth(of: workload, points))
    }
  }

  /// Measures the implementations of one workload at each size, interleaved. One whose next batch
  /// would take longer than the plan allows is left at the size before. A size that is broken off
  /// gives no points.
  ///
  /// - Parameters:
  ///   - workload: What is measured.
  ///   - points: What each implementation took, a list for each.
  /// - Throws: the first wrong result.
  private func measure(
    _ workload: Workload, _ points: inout [[Growth.Point]]
  ) throws(Ledger.Failure) {
    for (step, size) in sizes.enumerated() {
      let able = workload.implementations.indices.filter {
        Self.forecast(points[$0], size) <= Double(plan.longestBatch)
      }
      var entrants = able.map { Entrant(workload, workload.implementations[$0], roundItems: size) }
      // The first round warms up, and sets the number of rounds that fit into the time.
      var longest: Int64 = 1
      for index in entrants.indices {
        if interruption.requested != nil { return }
        progress.tells(
          "\(entrants[index].implementation.name), \(size) items",
          share: Double(step) / Double(sizes.count))
        longest = max(longest, try entrants[index].batch())
      }
      let rounds = max(1, min(plan.samples, Int(plan.longestBatch / longest)))
      for round in 0..<rounds {
        progress.tells(
          "\(size) items, sample \(round + 1) of \(rounds)",
          share: (Double(step) + Double(round) / Double(rounds)) / Double(sizes.count))
        for index in Interleaving.order(ofRound: round, implementations: entrants.count) {
          if interruption.requested != nil { return }
          try entrants[index].takeSample()
        }
      }
      for (index, entrant) in zip(able, entrants) {
        let median = Statistics(of: entrant.samples.map(\.value)).median
        points[index].append(Growth.Point(items: size, value: median))
      }
    }
  }

  /// Those with a point at least.
  private static func growth(of workload: Workload, _ points: [[Growth.Point]]) -> [Growth] {
    zip(workload.implementations, points).filter { !$1.isEmpty }.map {
      Growth(
        workload: workload.name, implementation: $0.name, unit: workload.unit, points: $1)
    }
  }

  /// The nanoseconds that a batch of `size` items will take, if they go on growing as they did; 0
  /// before there is anything to tell from, infinite once a size was left out.
  static func forecast(_ points: [Growth.Point], _ size: Int) -> Double {
    guard let last = points.last else { return 0 }
    guard last.items * 10 >= size else { return .infinity }
    let time = last.value * Double(size)
    guard points.count > 1 else { return time }
    // By how much an item costs more at the last size than at the one before, it will again.
    return time * max(1, last.value / points[points.count - 2].value)
  }
}
