import Threading

extension RaceChapter {
  static let solutions = [
    Solution("a bank whose money never changes") { page in
      let bank = Bank(accounts: 4, each: 1_000)
      let threads = try (0..<4).map { seed in
        try PosixThread.start {
          for step in 0..<5_000 {
            bank.transfer(step % 7, from: (seed + step) % 4, to: (seed + step * 3 + 1) % 4)
          }
        }
      }
      var isConstant = true
      for _ in 0..<200 where bank.total != 4_000 { isConstant = false }
      for thread in threads { try thread.join() }
      page.claim("whenever one looked, there were 4,000", isConstant && bank.total == 4_000)
      page.claim("nobody was ever below zero", bank.lowest >= 0)
    },
    Solution("a cache that computes each answer once") { page in
      let computed = AtomicCounter()
      let cache = Cache { number in
        computed.increment()
        return number * number
      }
      let threads = try (0..<4).map { _ in
        try PosixThread.start { (0..<100).map { cache.value(of: $0) } }
      }
      let answers = try threads.map { try $0.join() }
      page.claim("all got the squares", answers.allSatisfy { $0 == (0..<100).map { $0 * $0 } })
      page.claim("4 threads asked for 100 answers, 100 were computed", computed.value == 100)
    },
  ]

  /// All accounts are behind one lock, so no transfer is ever seen half done.
  final class Bank: Sendable {
    private let balances: Locked<[Int]>

    init(accounts: Int, each balance: Int) {
      balances = Locked(Array(repeating: balance, count: accounts))
    }

    var total: Int { balances.withLock { $0.reduce(0, +) } }
    var lowest: Int { balances.withLock { $0.min() ?? 0 } }

    func transfer(_ amount: Int, from giver: Int, to taker: Int) {
      balances.withLock { balances in
        guard balances[giver] >= amount else { return }
        balances[giver] -= amount
        balances[taker] += amount
      }
    }
  }

  /// The lock is held while an answer is computed: whoever wants the same one waits for it. So do
  /// those who want another; chapter 6 has better.
  final class Cache: Sendable {
    private let answers = Locked<[Int: Int]>([:])
    private let compute: @Sendable (Int) -> Int

    init(_ compute: @escaping @Sendable (Int) -> Int) {
      self.compute = compute
    }

    func value(of number: Int) -> Int {
      answers.withLock { answers in
        if let known = answers[number] { return known }
        let answer = compute(number)
        answers[number] = answer
        return answer
      }
    }
  }
}
