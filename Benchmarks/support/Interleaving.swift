/// The order in which implementations are sampled.
package enum Interleaving {
  /// The order of one round: each implementation once, started one place further each round, so
  /// that a machine that drifts, or one implementation that disturbs the next, hits all alike.
  package static func order(ofRound round: Int, implementations count: Int) -> [Int] {
    (0..<count).map { ($0 + round) % count }
  }
}
