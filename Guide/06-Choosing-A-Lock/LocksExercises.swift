import Threading

extension LocksChapter {
  static let solutions = [
    Solution("a cache that is read by many") { page in
      let computed = AtomicCounter()
      let cache = ReadMostlyCache { number in
        computed.increment()
        return number * number
      }
      let threads = try (0..<4).map { _ in
        try PosixThread.start { (0..<200).map { cache.value(of: $0 % 50) } }
      }
      let answers = try threads.map { try $0.join() }
      let expected = (0..<200).map { ($0 % 50) * ($0 % 50) }
      page.claim("all got the squares", answers.allSatisfy { $0 == expected })
      page.claim("each of 50 was computed once", computed.value == 50)
    },
    Solution("a recursive lock made unnecessary") { page in
      let list = SortedList()
      let threads = try (0..<4).map { first in
        try PosixThread.start {
          for step in 0..<100 { list.insert(contentsOf: [first + 4 * step, -first]) }
        }
      }
      for thread in threads { try thread.join() }
      let numbers = list.numbers
      page.claim(
        "all 800 numbers are there, sorted", numbers.count == 800 && numbers == numbers.sorted())
    },
  ]

  /// Readers do not keep each other out. Whoever finds nothing turns reading into writing, and nobody
  /// comes in between.
  final class ReadMostlyCache: Sendable {
    private let lock = ReadWriteLock()
    // SAFETY: read with the lock held for reading, changed with it held for writing.
    private nonisolated(unsafe) var answers: [Int: Int] = [:]
    private let compute: @Sendable (Int) -> Int

    init(_ compute: @escaping @Sendable (Int) -> Int) {
      self.compute = compute
    }

    func value(of number: Int) -> Int {
      if let known = lock.withReadLock({ unsafe answers[number] }) { return known }
      lock.upgradableLock()
      if let known = unsafe answers[number] {
        lock.upgradableUnlock()
        return known
      }
      // Readers still get in while this is computed.
      let answer = compute(number)
      lock.upgrade()
      unsafe answers[number] = answer
      lock.writeUnlock()
      return answer
    }
  }

  /// Public methods take the lock, and call private ones that count on it being held. So no method
  /// takes a lock that it has.
  final class SortedList: Sendable {
    private let state = Locked<[Int]>([])

    var numbers: [Int] { state.withLock { $0 } }

    func insert(_ number: Int) {
      state.withLock { Self.insert(number, into: &$0) }
    }

    func insert(contentsOf numbers: [Int]) {
      state.withLock { state in
        for number in numbers { Self.insert(number, into: &state) }
      }
    }

    private static func insert(_ number: Int, into numbers: inout [Int]) {
      let place = numbers.firstIndex { $0 > number } ?? numbers.endIndex
      numbers.insert(number, at: place)
    }
  }
}
