/// Work of a known length: a chain of dependent steps (xorshift64: Marsaglia, 2003), each of which
/// takes a current processor some two and a half nanoseconds and cannot be foreseen.
enum Work {
  /// About 20 ns.
  static let stepsInside = 8
  /// About 50 ns.
  static let stepsOutside = 19

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
}
