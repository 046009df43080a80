import BenchmarkSupport

/// Takes the samples.
struct Runner: Sendable {
  let plan: Plan
  let progress: ProgressLine
  let interruption: Interruption
  let ledger: Ledger

  /// Measures workload after workload, going on to the next where one fails, until all are done or
  /// an interruption is asked for.
  func measure(_ workloads: [Workload]) {
    for workload in workloads {
      if interruption.requested != nil { break }
      progress.begins(workload.name)
      do throws(Ledger.Failure) {
        ledger.note(try measure(workload))
      } catch {
        ledger.note(error)
      }
    }
  }

  /// Measures the implementations of one workload, interleaved.
  ///
  /// - Returns: a row for each; none when an interruption came before the first round was over.
  /// - Throws: the first wrong result.
  func measure(_ workload: Workload) throws(Ledger.Failure) -> [Row] {
    var entrants: [Entrant] = []
    for (index, implementation) in workload.implementations.enumerated() {
      progress.tells(
        "calibrating \(implementation.name)",
        share: 0.25 * Double(index) / Double(workload.implementations.count))
      if interruption.requested != nil { return [] }
      entrants.append(try Entrant(calibrating: implementation, of: workload, for: plan))
    }
    progress.tells("warming up", share: 0.25)
    for warmUp in 0..<plan.warmUps {
      for index in Interleaving.order(ofRound: warmUp, implementations: entrants.count) {
        if interruption.requested != nil { return [] }
        _ = try entrants[index].batch()
      }
    }
    var finished = 0
    rounds: for round in 0..<plan.samples {
      progress.tells(
        "sample \(round + 1) of \(plan.samples)",
        share: 0.3 + 0.7 * Double(round) / Double(plan.samples))
      for index in Interleaving.order(ofRound: round, implementations: entrants.count) {
        if interruption.requested != nil { break rounds }
        try entrants[index].takeSample()
      }
      finished += 1
    }
    guard finished > 0 else { return [] }
    // A round that was broken off has samples of some implementations only.
    let series = entrants.map { Array($0.samples.prefix(finished)) }
    let ours = entrants.firstIndex { $0.implementation.name == Implementation.oursName }
    return entrants.indices.map { index in
      Row(
        of: entrants[index].implementation, in: workload, items: entrants[index].items,
        samples: series[index], comparedTo: ours.map { series[$0] })
    }
  }
}
