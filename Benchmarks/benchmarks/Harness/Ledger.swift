import Threading

/// What was measured so far, readable while measuring goes on.
final class Ledger: Sendable {
  /// A row for each implementation that worked, a failure for each that did not.
  struct Outcome: Sendable {
    var rows: [Row] = []
    var growth: [Growth] = []
    var failures: [Failure] = []
  }

  /// A batch that did not do what it should.
  struct Failure: Error, Sendable, CustomStringConvertible {
    let workload: String
    let implementation: String
    let reason: String
    /// Whether the system refused what it needs, and so nothing is known of the result.
    var isRefusal = false

    var description: String {
      "\(workload), \(implementation): \(isRefusal ? "refused" : "wrong result"): \(reason)"
    }
  }

  private let content = Locked(Outcome())

  /// Keeps the rows, in the place of older ones of the same workloads.
  func note(_ rows: [Row]) {
    let again = Set(rows.map(\.workload))
    content.withLock { content in
      content.rows.removeAll { again.contains($0.workload) }
      content.rows += rows
    }
  }

  func note(_ growth: [Growth]) { content.withLock { $0.growth += growth } }
  func note(_ failure: Failure) { content.withLock { $0.failures.append(failure) } }

  var outcome: Outcome { content.withLock { $0 } }
}
