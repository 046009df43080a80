import Threading

extension WaysChapter {
  static let solutions = [
    Solution("several pieces for each ticket") { page in
      let visits = AtomicCounter()
      let sum = try byThreads(1_000, inBunchesOf: 16, { $0 }, whenTaken: { visits.increment() })
      page.claim("the same sum", sum == 499_500)
      page.claim("63 tickets in place of 1,000", visits.value == 63)
    },
    Solution("a map by tasks, never more than three at once") { page in
      let gauge = LargeFilesChapter.Gauge()
      let squares = try ActorsChapter.waitForAsync {
        await map(Array(0..<100), atMost: 3) { number in
          _ = gauge.enter(number)
          await Task.yield()
          gauge.leave()
          return number * number
        }
      }
      page.claim("a hundred squares, in order", squares == (0..<100).map { $0 * $0 })
      page.claim("never more than three under way", (1...3).contains(gauge.most))
    },
  ]

  static func byThreads(
    _ count: Int, inBunchesOf size: Int, _ piece: @escaping @Sendable (Int) -> Int,
    whenTaken: @escaping @Sendable () -> Void
  ) throws -> Int {
    let tickets = AtomicCounter()
    return try withThreads { scope in
      let threads = try (0..<AvailableParallelism.current).map { _ in
        try scope.start {
          var sum = 0
          while true {
            let first = (tickets.increment() - 1) * size
            if first >= count { return sum }
            whenTaken()
            for index in first..<min(count, first + size) { sum += piece(index) }
          }
        }
      }
      return try threads.reduce(0) { $0 + (try $1.join()) }
    }
  }

  /// What a function makes of each element, in their order, with a bound on the tasks under way.
  static func map<Element: Sendable, Value: Sendable>(
    _ elements: [Element], atMost most: Int,
    _ transform: @escaping @Sendable (Element) async -> Value
  ) async -> [Value] {
    await withTaskGroup(of: (Int, Value).self) { group in
      var values = [Value?](repeating: nil, count: elements.count)
      for (index, element) in elements.enumerated() {
        // One must have ended before there is room for another.
        if index >= most, let (done, value) = await group.next() { values[done] = value }
        group.addTask { (index, await transform(element)) }
      }
      for await (done, value) in group { values[done] = value }
      return values.compactMap { $0 }
    }
  }
}
