import Synchronization
import ThreadingPlatform

/// Work of a known length: a chain of dependent steps (xorshift64: Marsaglia, 2003) that cannot be
/// foreseen.
enum Work {
  /// The state after `steps` steps; never 0 for a `state` that is not.
  @inline(__always)
  static func steps(_ steps: Int, from state: UInt64) -> UInt64 {
    var state = state
    for _ in 0..<steps {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
    }
    return state
  }

  /// Keeps the compiler from dropping work whose result nobody wants.
  static func swallow(_ state: UInt64) {
    hole.store(state, ordering: .relaxed)
  }

  private static let hole = Atomic<UInt64>(0)

  /// How many steps this machine makes in a nanosecond: of some tries, the fastest.
  static func stepsPerNanosecond() -> Double {
    let count = 200_000
    var state: UInt64 = 1
    var best = Int64.max
    for _ in 0..<20 {
      let start = MonotonicInstant.now.nanoseconds
      state = steps(count, from: state)
      swallow(state)
      best = min(best, MonotonicInstant.now.nanoseconds - start)
    }
    return Double(count) / Double(max(1, best))
  }
}
