/// A bounded time of looking at a word again and again, before a thread sleeps on it.
///
/// Between the looks it pauses, for longer and longer, since each look takes the word's cache line from
/// the processor that the thread waits for. With one processor it ends at once: whoever could change
/// the word cannot run meanwhile.
package struct Spin {
  private var left: Int
  private var burst: Int
  private let longestBurst: Int

  /// All in nanoseconds, about.
  ///
  /// - Parameters:
  ///   - limit: How long to spin at most; 0 for not at all.
  ///   - first: How long the first pause is; each is twice as long as the one before.
  ///   - longest: How long a pause is at most.
  package init(for limit: Int, pausing first: Int = 0, upTo longest: Int = 200) {
    left = limit > 0 ? Processors.pauses(in: limit) : 0
    burst = max(1, Processors.pauses(in: first))
    longestBurst = Processors.pauses(in: longest)
  }

  /// Pauses for a moment.
  ///
  /// - Returns: false, at once, when the time is up.
  package mutating func pause() -> Bool {
    guard left > 0 else { return false }
    for _ in 0..<burst { Processors.relax() }
    left -= burst
    if burst < longestBurst { burst *= 2 }
    return true
  }
}

extension Processors {
  /// How many of ``relax()`` fit into a time; 0 where spinning is of no use.
  static func pauses(in nanoseconds: Int) -> Int { nanoseconds * pausesPerMillisecond / 1_000_000 }

  /// See ``SystemProcess/makeValues()``.
  static func makeValues() {
    _ = pausesPerMillisecond
    _ = available
  }

  /// A pause takes ten times as long on some processors as on others of the same kind, so a time
  /// cannot be had by counting. Measured once, for some 5 us; of three tries the shortest counts, as
  /// another thread may run in between.
  private static let pausesPerMillisecond: Int = {
    guard atStart > 1 else { return 0 }
    let tries = 40
    var shortest = Int64.max
    for _ in 0..<3 {
      let start = MonotonicInstant.now.nanoseconds
      for _ in 0..<tries { relax() }
      shortest = min(shortest, MonotonicInstant.now.nanoseconds - start)
    }
    // Within what processors are known to take, should the clock not be a real one.
    return 1_000_000 * tries / Int(min(max(shortest, 80), 16_000))
  }()
}
