import BenchmarkSupport

/// A run beside one that was saved before.
///
/// Machines drift by more than most regressions. So what the rivals, who did not change, take now and
/// then is taken for the machine's share: the median of their factors. And a row of ours counts as
/// slower only by the smaller of the factors of its median and its minimum.
struct Comparison: Equatable {
  /// One row in both runs.
  struct Change: Equatable {
    let workload: String
    let implementation: String
    let unit: Quantity
    let before: Double
    let now: Double
    /// How many times as much as before, the machine's share taken out.
    let factor: Double
  }

  /// From so many rows of rivals on, their factors tell of the machine.
  static let fewestRivals = 5

  /// What a machine's moods explain.
  static let likelyDrift = 0.5...2.0

  /// How many times as long the machine takes; 1 where too few rivals are in both runs.
  let drift: Double
  /// The toolkit's own rows that are in both.
  let changes: [Change]
  let regressions: [Change]
  /// The toolkit's own rows of this run that the saved one does not have.
  let unknown: Int

  init(of rows: [Row], with saved: SavedRun, threshold: Double) {
    var drifts: [Double] = []
    var pairs: [(row: Row, before: SavedRun.Entry)] = []
    var unknown = 0
    for row in rows {
      let key = SavedRun.Key(workload: row.workload, implementation: row.implementation)
      let isOurs = Implementation.isOurs(row.implementation)
      // A time of 0 was too short for the clock: nothing can be compared with it.
      guard let before = saved.entries[key], before.unit == row.unit,
        row.unit != .nanoseconds || before.minimum > 0
      else {
        if isOurs { unknown += 1 }
        continue
      }
      if isOurs {
        pairs.append((row, before))
      } else if row.unit == .nanoseconds, before.minimum > 0, row.minimum > 0 {
        drifts.append(row.minimum / before.minimum)
      }
    }
    let drift = drifts.count >= Self.fewestRivals ? Statistics(of: drifts).median : 1
    self.drift = drift
    self.unknown = unknown
    changes = pairs.map { row, before in
      let share = row.unit == .nanoseconds ? drift : 1
      return Change(
        workload: row.workload, implementation: row.implementation, unit: row.unit,
        before: before.median, now: row.median,
        factor: min(
          Self.factor(row.median, before.median), Self.factor(row.minimum, before.minimum)) / share)
    }
    regressions = changes.filter { $0.factor > threshold }
  }

  private static func factor(_ now: Double, _ before: Double) -> Double {
    now == before ? 1 : now / before
  }

  /// What is told of it.
  func text(with saved: SavedRun, path: String, threshold: Double) -> String {
    var text = """

      Compared with \(path), of \(saved.date) on \(saved.machine).
      The machine takes \(Figures.fixed(drift, decimals: 2)) times as long as then, by the rivals; \
      that is taken out below.

      """
    if !Self.likelyDrift.contains(drift) {
      text += "No machine drifts by that much: compare runs of one machine and one kind of build.\n"
    }
    if unknown > 0 { text += "Not in the file: \(unknown) of our rows.\n" }
    guard !regressions.isEmpty else {
      return text
        + "None of our \(changes.count) rows needs more than \(threshold) times as much as then.\n"
    }
    text += """
      \(regressions.count) of our \(changes.count) rows need more than \(threshold) times as much as \
      then:

      """
    return text
      + AlignedTable.text(
        header: ["workload", "implementation", "then", "now", "times"],
        rows: regressions.map {
          [
            $0.workload, $0.implementation, Figures.forPeople($0.before),
            Figures.forPeople($0.now), Figures.fixed($0.factor, decimals: 2),
          ]
        }, leftColumns: 2)
  }
}
