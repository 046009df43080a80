/// Turns bytes read into whole percents, and says when there is a new one.
struct PercentCounter {
  private let total: Int
  private var percent = 0

  /// A counter that stands at 0 of `total` bytes.
  init(total: Int) {
    self.total = total
  }

  /// Takes note of how many bytes are read in all.
  ///
  /// - Returns: the percent, if it is another than before. A file that grew while it was read does
  ///   not lead beyond 100.
  mutating func advance(to bytes: Int) -> Int? {
    let now = total == 0 ? 100 : min(100, bytes * 100 / total)
    if now <= percent { return nil }
    percent = now
    return now
  }
}
