import Threading

extension DeadlockChapter {
  // snippet: account
  /// An account with a lock of its own, and a number that no other account has.
  final class Account: Sendable {
    let number: Int
    let balance: Locked<Int>

    init(number: Int, balance: Int) {
      self.number = number
      self.balance = Locked(balance)
    }
  }

  static func transfer(_ amount: Int, from giver: Account, to taker: Account) {
    if giver === taker { return }
    let isGiverFirst = giver.number < taker.number
    let (first, second) = isGiverFirst ? (giver, taker) : (taker, giver)
    let change = isGiverFirst ? -amount : amount
    first.balance.withLock { first in
      second.balance.withLock { second in
        first += change
        second -= change
      }
    }
  }
  // end

  static func transferInOrder() throws -> Int {
    try total(after: { transfer($0, from: $1, to: $2) })
  }

  /// Two accounts of 1,000, and money that goes both ways at the same time.
  private static func total(
    after transfer: @escaping @Sendable (Int, Account, Account) -> Void
  ) throws -> Int {
    let accounts = (0..<2).map { Account(number: $0, balance: 1_000) }
    let threads = try (0..<2).map { giver in
      try PosixThread.start {
        for _ in 0..<2_000 { transfer(giver + 1, accounts[giver], accounts[1 - giver]) }
      }
    }
    for thread in threads { try thread.join() }
    return accounts.reduce(0) { sum, account in sum + account.balance.withLock { $0 } }
  }

  static func transferPolitely() throws -> (total: Int, retries: Int) {
    let retries = AtomicCounter()
    let total = try Self.total { amount, giver, taker in
      // snippet: polite
      while true {
        let isDone: Bool? = giver.balance.withLock { giver in
          taker.balance.withLockIfAvailable { taker in
            giver -= amount
            taker += amount
            return true
          }
        }
        if isDone != nil { break }
        retries.increment()
      }
      // end
    }
    return (total, retries.value)
  }
}
