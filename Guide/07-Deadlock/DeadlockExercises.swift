import Threading

extension DeadlockChapter {
  static let solutions = [
    Solution("five philosophers") { page in
      let meals = try dine(philosophers: 5, meals: 200)
      page.claim("each has eaten 200 times", meals == [200, 200, 200, 200, 200])
    },
    Solution("a lock for each of many accounts") { page in
      let accounts = (0..<8).map { Account(number: $0, balance: 100) }
      let threads = try (0..<4).map { seed in
        try PosixThread.start {
          for step in 0..<500 {
            collect(1, from: [(seed + step) % 8, (seed * 3 + step) % 8, step % 8], of: accounts)
          }
        }
      }
      for thread in threads { try thread.join() }
      let total = accounts.reduce(0) { sum, account in sum + account.balance.withLock { $0 } }
      page.claim("three accounts at a time gave one each to a fourth: all is there", total == 800)
    },
  ]

  /// Each philosopher needs the fork on the left and the one on the right. All take the fork with the
  /// lower number first; so the last one takes the right one first, and no circle closes.
  static func dine(philosophers count: Int, meals: Int) throws -> [Int] {
    let forks = (0..<count).map { _ in FairMutex() }
    let threads = try (0..<count).map { seat in
      let pair = [seat, (seat + 1) % count].sorted()
      return try PosixThread.start {
        var eaten = 0
        while eaten < meals {
          forks[pair[0]].withLock {
            forks[pair[1]].withLock { eaten += 1 }
          }
        }
        return eaten
      }
    }
    return try threads.map { try $0.join() }
  }

  /// Takes an amount from each of some accounts, and gives it all to the first account.
  ///
  /// The locks are taken in the order of the numbers, by a function that calls itself for the rest.
  static func collect(_ amount: Int, from givers: [Int], of accounts: [Account]) {
    let numbers = Set(givers).union([0]).sorted()
    _ = withLocks(numbers[...], of: accounts, []) { held in
      for number in Set(givers) where number != 0 {
        held[number, default: 0] -= amount
        held[0, default: 0] += amount
      }
    }
  }

  private static func withLocks(
    _ numbers: ArraySlice<Int>, of accounts: [Account], _ balances: [(Int, Int)],
    _ change: (inout [Int: Int]) -> Void
  ) -> [Int: Int] {
    guard let number = numbers.first else {
      var held = Dictionary(uniqueKeysWithValues: balances)
      change(&held)
      return held
    }
    return accounts[number].balance.withLock { balance in
      let after = withLocks(
        numbers.dropFirst(), of: accounts, balances + [(number, balance)], change)
      balance = after[number] ?? balance
      return after
    }
  }
}
