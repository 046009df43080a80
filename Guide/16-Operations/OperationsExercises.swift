import Threading

extension OperationsChapter {
  static let solutions = [
    Solution("primes below a limit, by an operation that can be cancelled") { page in
      let primes = PrimesOperation(below: 30)
      try primes.start()
      page.claim(
        "by hand: the ten primes below 30", primes.found == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29])
      let queue = ThreadOperationQueue(name: "primes", width: 2)
      let operations = [1_000, 2_000].map { PrimesOperation(below: $0) }
      try queue.add(contentsOf: operations)
      queue.waitForAll()
      page.claim("on a queue: 168 and 303 of them", operations.map(\.found.count) == [168, 303])
    },
    Solution("a map over operations") { page in
      let squares = try mapByOperations(Array(1...20)) { $0 * $0 }
      page.claim("twenty squares, in order", squares == (1...20).map { $0 * $0 })
    },
  ]

  final class PrimesOperation: ThreadOperation, @unchecked Sendable {
    private let limit: Int
    // SAFETY: written by `main()`, read when the operation has finished.
    private(set) var found: [Int] = []

    init(below limit: Int) {
      self.limit = limit
      super.init(name: "primes below \(limit)")
    }

    override func main() {
      for candidate in stride(from: 2, to: limit, by: 1) {
        if isCancelled { return }
        if found.allSatisfy({ candidate % $0 != 0 }) { found.append(candidate) }
      }
    }
  }

  /// What a function makes of each element, each by an operation of its own.
  static func mapByOperations<Element: Sendable, Value: Sendable>(
    _ elements: [Element], _ transform: @escaping @Sendable (Element) throws -> Value
  ) throws -> [Value] {
    let operations = elements.map { element in ResultOperation { try transform(element) } }
    try ThreadOperationQueue(name: "map").add(contentsOf: operations)
    return try operations.map { try $0.value() }
  }
}
