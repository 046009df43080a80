import ThreadingLocks
import ThreadingPlatform

private final class Shared: Sendable {
  let mutex = FastMutex()
  let recursive = RecursiveLock(label: "tree")
}

/// Has the owner hold a lock while a stranger comes.
private func whileHeld(
  _ take: @escaping @Sendable () throws -> Void, _ strange: @escaping @Sendable () throws -> Void
) throws {
  try on("owner") {
    try take()
    try on("stranger", strange)
  }
}

extension MisuseCase {
  static let mutexes: [MisuseCase] = [
    // FastMutex: one word, so it has an address and no label.
    MisuseCase("FastMutex: relock", ["FastMutex.lock: the lock at 0x", "held by", "<owner>"]) {
      let shared = Shared()
      try on("owner") {
        shared.mutex.lock()
        shared.mutex.lock()
      }
    },
    MisuseCase("FastMutex: relock with a limit", ["FastMutex.lock: the lock at 0x", "<owner>"]) {
      let shared = Shared()
      try on("owner") { shared.mutex.withLock { _ = shared.mutex.lock(for: .seconds(1)) } }
    },
    MisuseCase(
      "FastMutex: unlock by a stranger",
      ["FastMutex.unlock: the lock at 0x", "held by <owner>", "unlocked by <stranger>"]
    ) {
      let shared = Shared()
      try whileHeld {
        shared.mutex.lock()
      } _: {
        shared.mutex.unlock()
      }
    },
    MisuseCase(
      "FastMutex: unlock of an unlocked one", ["FastMutex.unlock", "nobody", "by <stranger>"]
    ) {
      let shared = Shared()
      try on("stranger") { shared.mutex.unlock() }
    },
    MisuseCase(
      "FastMutex: destruction while held",
      ["FastMutex: a lock was destroyed while held by <owner>, at 0x", "by <stranger>"]
    ) {
      let placed = Placed(FastMutex())
      try whileHeld {
        placed.use { lock($0) }
      } _: {
        placed.destroy()
      }
    },
    MisuseCase(
      "FastMutex: destruction while waited on",
      ["FastMutex: a lock was destroyed while held by <owner>, at 0x", "by <stranger>"]
    ) {
      let placed = Placed(FastMutex())
      try whileHeld {
        placed.use { lock($0) }
      } _: {
        try asleep("waiter") { placed.use { lock($0) } }
        placed.destroy()
      }
    },

    // RecursiveLock: its owner may take it again.
    MisuseCase(
      "RecursiveLock: unlock by a stranger",
      ["RecursiveLock \"tree\": unlocked by a thread", "by <stranger>", "is held by <owner>"]
    ) {
      let shared = Shared()
      try whileHeld {
        shared.recursive.lock()
      } _: {
        shared.recursive.unlock()
      }
    },
    MisuseCase(
      "RecursiveLock: unlock of an unlocked one",
      ["RecursiveLock \"tree\": unlocked by a thread", "by <stranger>", "is held by nobody"]
    ) {
      let shared = Shared()
      try on("stranger") { shared.recursive.unlock() }
    },
    MisuseCase(
      "RecursiveLock: destruction while held",
      ["RecursiveLock \"tree\": destroyed while held, by <stranger>", "is held by <owner>"]
    ) {
      let placed = Placed(RecursiveLock(label: "tree"))
      try whileHeld {
        placed.use { $0.lock() }
      } _: {
        placed.destroy()
      }
    },

    // Locked: cannot be given back but by the call that has taken it.
    MisuseCase("Locked: relock", ["Locked<Int> \"accounts\".withLock", "<owner>"]) {
      let accounts = Placed(Locked(1, label: "accounts"))
      try on("owner") {
        accounts.use { $0.withLock { _ in accounts.use { $0.withLock { _ in } } } }
      }
    },
    MisuseCase("Locked: relock when", ["Locked<Int> \"accounts\".withLock", "<owner>"]) {
      let accounts = Placed(Locked(1, label: "accounts"))
      try on("owner") {
        accounts.use {
          $0.withLock { _ in accounts.use { $0.withLock(when: { $0 == 1 }) { _ in } } }
        }
      }
    },
    MisuseCase(
      "Locked: destruction while held",
      ["Locked<Int> \"accounts\": destroyed while its lock is held by <owner>, by <stranger>"]
    ) {
      let accounts = Placed(Locked(1, label: "accounts"))
      try on("owner") {
        accounts.use { $0.withLock { _ in try? on("stranger") { accounts.destroy() } } }
      }
    },
    MisuseCase(
      "Locked: destruction while waited on",
      ["Locked<Int> \"accounts\": destroyed while <waiter> waits, by <stranger>"]
    ) {
      let accounts = Placed(Locked(1, label: "accounts"))
      try asleep("waiter") { accounts.use { $0.withLock(when: { $0 == 2 }) { _ in } } }
      try on("stranger") { accounts.destroy() }
    },

    // FairMutex.
    MisuseCase("FairMutex: relock", ["FairMutex \"queue\": locked again by its owner, <owner>"]) {
      let mutex = FairMutex(label: "queue")
      try on("owner") {
        mutex.lock()
        mutex.lock()
      }
    },
    MisuseCase(
      "FairMutex: unlock by a stranger",
      ["FairMutex \"queue\": held by <owner>, but unlocked by <stranger>"]
    ) {
      let mutex = FairMutex(label: "queue")
      try whileHeld {
        mutex.lock()
      } _: {
        mutex.unlock()
      }
    },
    MisuseCase(
      "FairMutex: unlock of an unlocked one",
      ["FairMutex \"queue\": held by nobody, but unlocked by <stranger>"]
    ) {
      let mutex = FairMutex(label: "queue")
      try on("stranger") { mutex.unlock() }
    },
    MisuseCase(
      "FairMutex: destruction while held",
      ["FairMutex \"queue\": destroyed while held by <owner>, by <stranger>"]
    ) {
      let mutex = Overreleased(FairMutex(label: "queue"))
      try whileHeld {
        mutex.use { $0.lock() }
      } _: {
        mutex.destroy()
      }
    },
    MisuseCase(
      "FairMutex: destruction while waited on",
      ["FairMutex \"queue\": destroyed while held by <owner>, by <stranger>"]
    ) {
      let mutex = Overreleased(FairMutex(label: "queue"))
      try whileHeld {
        mutex.use { $0.lock() }
      } _: {
        try asleep("waiter") { mutex.use { $0.lock() } }
        mutex.destroy()
      }
    },

    // SequenceLocked: has no lock that could be given back; nobody sleeps on it but writers.
    MisuseCase(
      "SequenceLocked: store inside update",
      ["SequenceLocked<Int> \"time\": used by its own update, on <owner>"]
    ) {
      let time = SequenceLocked(1, label: "time")
      try on("owner") { time.update { _ in time.store(2) } }
    },
    MisuseCase(
      "SequenceLocked: update inside update",
      ["SequenceLocked<Int> \"time\": used by its own update, on <owner>"]
    ) {
      let time = SequenceLocked(1, label: "time")
      try on("owner") { time.update { _ in time.update { $0 = 2 } } }
    },
    MisuseCase(
      "SequenceLocked: destruction while written",
      ["SequenceLocked<Int> \"time\": destroyed while written by <owner>, by <stranger>"]
    ) {
      let time = Overreleased(SequenceLocked(1, label: "time"))
      try on("owner") { time.use { $0.update { _ in try? on("stranger") { time.destroy() } } } }
    },

    // OnceFlag.
    MisuseCase("OnceFlag: inside its own body", ["OnceFlag.runOnce", "<owner>"]) {
      let flag = Placed(OnceFlag())
      try on("owner") { flag.use { _ = $0.runOnce { flag.use { _ = $0.runOnce {} } } } }
    },
    MisuseCase(
      "OnceFlag: destruction while its body runs",
      ["OnceFlag: destroyed while <owner> runs its body, at 0x", "by <stranger>"]
    ) {
      let flag = Placed(OnceFlag())
      try on("owner") { flag.use { _ = $0.runOnce { try? on("stranger") { flag.destroy() } } } }
    },
    MisuseCase(
      "OnceFlag: destruction while waited on",
      ["OnceFlag: destroyed while <owner> runs its body, at 0x", "by <stranger>"]
    ) {
      let flag = Placed(OnceFlag())
      try on("owner") {
        flag.use {
          _ = $0.runOnce {
            try? asleep("waiter") { flag.use { _ = $0.runOnce {} } }
            try? on("stranger") { flag.destroy() }
          }
        }
      }
    },
  ]
}
