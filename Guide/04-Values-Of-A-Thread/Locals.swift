import Threading

extension ValuesChapter {
  // snippet: local
  /// How often something has happened on the calling thread.
  static let count = ThreadLocal { 0 }

  static func countApart(threads: Int, times: Int) throws -> [Int] {
    let workers = try (0..<threads).map { _ in
      try PosixThread.start {
        for _ in 0..<times { count.value += 1 }
        return count.value
      }
    }
    return try workers.map { try $0.join() }
  }
  // end

  /// How many values were made: at first, after a thread used its value twice, and after another did.
  static func madeWhenAsked() throws -> [Int] {
    let made = AtomicCounter()
    let buffer = ThreadLocal {
      made.increment()
      return [UInt8](repeating: 0, count: 4_096)
    }
    var counts = [made.value]
    for _ in 1...2 {
      try PosixThread.start {
        // snippet: inplace
        buffer.withValue { $0[0] = 1 }
        buffer.withValue { $0[1] = 2 }
        // end
      }.join()
      counts.append(made.value)
    }
    return counts
  }

  /// Nanoseconds of a read.
  static func costs() -> (local: Double, typed: Double, named: Double) {
    let times = 20_000
    let dictionary = ThreadDictionary.current
    dictionary[RequestNumber.self] = 1
    dictionary["number"] = 1
    defer { dictionary.removeAll() }
    var sum = 0
    let local = Stopwatch.nanoseconds(perEachOf: times) {
      for _ in 0..<times { sum += count.value }
    }
    let typed = Stopwatch.nanoseconds(perEachOf: times) {
      for _ in 0..<times { sum += dictionary[RequestNumber.self] ?? 0 }
    }
    let named = Stopwatch.nanoseconds(perEachOf: times) {
      for _ in 0..<times { sum += dictionary["number"] as? Int ?? 0 }
    }
    precondition(sum > 0)
    return (local, typed, named)
  }
}
