import Threading

extension AtomicsChapter {
  static func ticketsAreUnique() throws -> Bool {
    // snippet: tickets
    let lastTicket = AtomicCounter()
    let threads = try (1...4).map { _ in
      try PosixThread.start { (1...1_000).map { _ in lastTicket.increment() } }
    }
    // end
    let tickets = try threads.flatMap { try $0.join() }
    return Set(tickets) == Set(1...4_000)
  }

  /// How many of some threads found that they were the first.
  static func firstOf(_ count: Int) throws -> Int {
    let start = CountdownLatch(count)
    // snippet: flag
    let isTaken = AtomicFlag()
    let threads = try (0..<count).map { _ in
      try PosixThread.start {
        start.countDownAndWait()
        let wasTaken = isTaken.testAndSet()
        return !wasTaken
      }
    }
    // end
    return try threads.map { try $0.join() }.count { $0 }
  }

  static func largest() throws -> Int {
    // snippet: largest
    let largest = AtomicBox(0)
    let threads = try (0..<4).map { first in
      try PosixThread.start {
        for step in 0..<1_000 {
          _ = largest.update { max($0, 4 * step + first) }
        }
      }
    }
    // end
    for thread in threads { try thread.join() }
    return largest.atomic.load(ordering: .relaxed)
  }
}
