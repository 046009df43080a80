/// Takes the samples.
struct Runner: Sendable {
  /// What came of measuring: a row for each implementation that worked, a failure for each that
  /// did not.
  struct Outcome: Sendable {
    var rows: [Row] = []
    var failures: [Failure] = []
  }

  /// A batch that did not do what it should.
  struct Failure: Error, Sendable, CustomStringConvertible {
    let workload: String
    let implementation: String
    let reason: String

    var description: String { "\(workload), \(implementation): wrong result: \(reason)" }
  }

  let plan: Plan
  let progress: ProgressLine

  /// Measures workload after workload, going on to the next where one fails.
  func measure(_ workloads: [Workload]) -> Outcome {
    var outcome = Outcome()
    for (index, workload) in workloads.enumerated() {
      progress.begins(index, workload.name)
      do throws(Failure) {
        outcome.rows += try measure(workload)
      } catch {
        outcome.failures.append(error)
      }
    }
    progress.ends()
    return outcome
  }

  /// Measures the implementations of one workload, interleaved.
  ///
  /// - Throws: the first wrong result.
  func measure(_ workload: Workload) throws(Failure) -> [Row] {
    var entrants: [Entrant] = []
    for implementation in workload.implementations {
      progress.tells("calibrating \(implementation.name)")
      entrants.append(try calibrated(implementation, of: workload))
    }
    for warmUp in 0..<plan.warmUps {
      progress.tells("warming up")
      for index in Interleaving.order(ofRound: warmUp, implementations: entrants.count) {
        _ = try entrants[index].sample()
      }
    }
    for round in 0..<plan.samples {
      progress.tells("sample \(round + 1) of \(plan.samples)")
      for index in Interleaving.order(ofRound: round, implementations: entrants.count) {
        let nanoseconds = try entrants[index].sample()
        entrants[index].samples.append(Double(nanoseconds) / Double(entrants[index].items))
      }
    }
    let ours = entrants.first { $0.implementation.name == Implementation.oursName }?.samples
    return entrants.map { $0.row(comparedTo: ours) }
  }

  /// Finds how many items make a batch that is long enough.
  private func calibrated(
    _ implementation: Implementation, of workload: Workload
  ) throws(Failure) -> Entrant {
    var entrant: Entrant
    switch workload.size {
    case .calibrated:
      entrant = Entrant(workload, implementation, roundItems: 1)
      while let nanoseconds = try tooShort(entrant) {
        entrant.roundItems = grown(entrant.roundItems, nanoseconds)
      }
    case .fixed(let items):
      entrant = Entrant(workload, implementation, roundItems: min(items, plan.largestRound))
      while let nanoseconds = try tooShort(entrant) {
        entrant.rounds = grown(entrant.rounds, nanoseconds)
      }
    }
    return entrant
  }

  /// How long a batch took, if that is too short. One that is long enough has to be so twice: the
  /// first time the machine may have been busy with something else.
  private func tooShort(_ entrant: Entrant) throws(Failure) -> Int64? {
    for _ in 0..<2 {
      let nanoseconds = try entrant.sample()
      if nanoseconds < plan.shortestBatch { return nanoseconds }
    }
    return nil
  }

  /// The next count to try after `count` took `nanoseconds`: what the target needs by proportion
  /// and a little over, at most 16 times as many, since a short time tells little.
  private func grown(_ count: Int, _ nanoseconds: Int64) -> Int {
    let wanted = Double(count) * Double(plan.shortestBatch) * 1.15 / Double(max(nanoseconds, 1))
    return max(count + 1, Int(min(wanted, Double(count) * 16)))
  }
}

/// An implementation while it is being sampled.
private struct Entrant {
  let workload: Workload
  let implementation: Implementation
  var roundItems: Int
  var rounds = 1
  /// Nanoseconds an item, one for each round of the interleaving.
  var samples: [Double] = []

  init(_ workload: Workload, _ implementation: Implementation, roundItems: Int) {
    self.workload = workload
    self.implementation = implementation
    self.roundItems = roundItems
  }

  var items: Int { roundItems * rounds }

  /// Runs one batch and returns its nanoseconds.
  func sample() throws(Runner.Failure) -> Int64 {
    do {
      var nanoseconds: Int64 = 0
      for _ in 0..<rounds { nanoseconds += try implementation.batch(roundItems) }
      return nanoseconds
    } catch {
      throw Runner.Failure(
        workload: workload.name, implementation: implementation.name, reason: "\(error)")
    }
  }

  func row(comparedTo ours: [Double]?) -> Row {
    let statistics = Statistics(of: samples)
    return Row(
      workload: workload.name, implementation: implementation.name, threads: workload.threads,
      items: items, medianNanoseconds: statistics.median,
      minimumNanoseconds: statistics.minimum, percentile99Nanoseconds: statistics.percentile99,
      ratioToOurs: ours.map { ours in
        Statistics(of: zip(samples, ours).map { $0 / $1 }).median
      })
  }
}
