/// A set of small whole numbers, one bit each: a million of them take 125 kilobytes.
struct BitSet {
  private var words: [UInt64]

  /// An empty set for numbers from 0 up to, but not including, `count`.
  init(count: Int) {
    words = [UInt64](repeating: 0, count: (count + 63) / 64)
  }

  /// Adds a number.
  ///
  /// - Returns: whether it was not in the set yet.
  mutating func insert(_ number: Int) -> Bool {
    let bit = UInt64(1) << UInt64(number % 64)
    let isNew = words[number / 64] & bit == 0
    words[number / 64] |= bit
    return isNew
  }
}
