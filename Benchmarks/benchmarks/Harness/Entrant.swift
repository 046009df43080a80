import ThreadingPlatform

/// An implementation while it is being sampled.
struct Entrant {
  let workload: Workload
  let implementation: Implementation
  /// Items in one round.
  var roundItems: Int
  /// Rounds in one batch.
  var rounds = 1
  /// One for each round of the interleaving.
  var samples: [Sample] = []

  init(_ workload: Workload, _ implementation: Implementation, roundItems: Int) {
    self.workload = workload
    self.implementation = implementation
    self.roundItems = roundItems
  }

  /// Finds how many items make a batch that is long enough.
  ///
  /// - Throws: a wrong result.
  init(
    calibrating implementation: Implementation, of workload: Workload, for plan: Plan
  ) throws(Ledger.Failure) {
    switch workload.size {
    case .calibrated:
      self.init(workload, implementation, roundItems: 1)
      while let time = try tooShort(for: plan) { roundItems = grown(roundItems, time, plan) }
    case .fixed(let items):
      self.init(workload, implementation, roundItems: min(items, plan.largestRound))
      // More rounds make a time more exact; memory needs them only where time is short too.
      guard workload.unit == .nanoseconds else { return }
      while let time = try tooShort(for: plan) { rounds = grown(rounds, time, plan) }
    }
  }

  /// Items in one batch.
  var items: Int { roundItems * rounds }

  /// Runs one batch.
  ///
  /// - Throws: a wrong result.
  func batch() throws(Ledger.Failure) -> Int64 {
    do {
      var total: Int64 = 0
      for _ in 0..<rounds { total += try implementation.batch(roundItems) }
      return total
    } catch {
      throw Ledger.Failure(
        workload: workload.name, implementation: implementation.name, reason: "\(error)",
        isRefusal: error is ThreadingError)
    }
  }

  /// Runs one batch and keeps what it took.
  ///
  /// - Throws: a wrong result.
  mutating func takeSample() throws(Ledger.Failure) {
    let before = ProcessUsage.now()
    let value = try batch()
    samples.append(Sample(value: value, used: .now() - before, items: items))
  }

  /// How often a batch has to be long enough to be taken for it.
  private static let confirmations = 4
  /// How many times as long as needed a batch is that has to be so once only.
  private static let clearlyLong: Int64 = 10

  /// The shortest batch, in nanoseconds. Where there are more threads than processors, their starting
  /// and ending is a larger part of it.
  private func shortestBatch(for plan: Plan) -> Int64 {
    plan.shortestBatch * Int64(max(1, workload.threads / 4))
  }

  /// How long a batch took, if that is too short. One that is just long enough has to be so a few
  /// times in a row: any of them may have taken longer because the machine was busy with something
  /// else.
  private func tooShort(for plan: Plan) throws(Ledger.Failure) -> Int64? {
    let shortest = shortestBatch(for: plan)
    for _ in 0..<Self.confirmations {
      let nanoseconds = try batch()
      if nanoseconds < shortest { return nanoseconds }
      if nanoseconds / Self.clearlyLong >= shortest { return nil }
    }
    return nil
  }

  /// The next count to try after `count` took `nanoseconds`: what the target needs by proportion
  /// and a little over, at most 16 times as many, since a short time tells little.
  private func grown(_ count: Int, _ nanoseconds: Int64, _ plan: Plan) -> Int {
    let wanted =
      Double(count) * Double(shortestBatch(for: plan)) * 1.15 / Double(max(nanoseconds, 1))
    return max(count + 1, Int(min(wanted, Double(count) * 16)))
  }
}
