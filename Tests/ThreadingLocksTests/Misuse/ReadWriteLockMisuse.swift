@testable import ThreadingLocks

private final class Shared: Sendable {
  let lock = ReadWriteLock(label: "table")
}

private let unheld = "the calling thread does not hold the lock in this way, called by <stranger>"

extension MisuseCase {
  static let readWriteLocks: [MisuseCase] = [
    MisuseCase(
      "ReadWriteLock: write inside write", ["ReadWriteLock \"table\".lock", "<owner>", "<owner>"]
    ) {
      let shared = Shared()
      try on("owner") { shared.lock.withWriteLock { shared.lock.withWriteLock {} } }
    },
    MisuseCase(
      "ReadWriteLock: read inside write", ["ReadWriteLock \"table\".lock", "<owner>", "<owner>"]
    ) {
      let shared = Shared()
      try on("owner") { shared.lock.withWriteLock { shared.lock.withReadLock {} } }
    },
    MisuseCase(
      "ReadWriteLock: read inside upgradable",
      ["ReadWriteLock \"table\".lock", "<owner>", "<owner>"]
    ) {
      let shared = Shared()
      try on("owner") {
        shared.lock.upgradableLock()
        shared.lock.withReadLock {}
      }
    },
    MisuseCase(
      "ReadWriteLock: upgradable inside upgradable", ["ReadWriteLock \"table\".lock", "<owner>"]
    ) {
      let shared = Shared()
      try on("owner") {
        shared.lock.upgradableLock()
        shared.lock.upgradableLock()
      }
    },
    MisuseCase(
      "ReadWriteLock: write inside reading by a stripe",
      ["ReadWriteLock \"table\".writeLock: the calling thread holds", "<owner>"]
    ) {
      let shared = Shared()
      try on("owner") {
        shared.lock.withReadLock { shared.lock.turnOnStripes() }
        shared.lock.withReadLock { shared.lock.withWriteLock {} }
      }
    },
    MisuseCase(
      "ReadWriteLock: writeUnlock by a stranger",
      ["ReadWriteLock \"table\".writeUnlock: \(unheld); <owner> holds the lock at 0x"]
    ) {
      let shared = Shared()
      try on("owner") {
        shared.lock.writeLock()
        try on("stranger") { shared.lock.writeUnlock() }
      }
    },
    MisuseCase(
      "ReadWriteLock: upgradableUnlock by a stranger",
      ["ReadWriteLock \"table\".upgradableUnlock: \(unheld); <owner> holds the lock at 0x"]
    ) {
      let shared = Shared()
      try on("owner") {
        shared.lock.upgradableLock()
        try on("stranger") { shared.lock.upgradableUnlock() }
      }
    },
    MisuseCase(
      "ReadWriteLock: readUnlock of one held for writing",
      ["ReadWriteLock \"table\".readUnlock: no thread holds", "by <stranger>; <owner> holds"]
    ) {
      let shared = Shared()
      try on("owner") {
        shared.lock.writeLock()
        try on("stranger") { shared.lock.readUnlock() }
      }
    },
    MisuseCase(
      "ReadWriteLock: writeUnlock of an unlocked one",
      ["ReadWriteLock \"table\".writeUnlock: \(unheld); nobody holds"]
    ) {
      let shared = Shared()
      try on("stranger") { shared.lock.writeUnlock() }
    },
    MisuseCase(
      "ReadWriteLock: readUnlock of an unlocked one",
      ["ReadWriteLock \"table\".readUnlock: no thread holds", "by <stranger>; nobody holds"]
    ) {
      let shared = Shared()
      try on("stranger") { shared.lock.readUnlock() }
    },
    MisuseCase(
      "ReadWriteLock: destruction while held for writing",
      ["ReadWriteLock \"table\": destroyed while held for writing by <owner>", "by <stranger>"]
    ) {
      let placed = Placed(ReadWriteLock(label: "table"))
      try on("owner") {
        placed.use { $0.writeLock() }
        try on("stranger") { placed.destroy() }
      }
    },
    MisuseCase(
      "ReadWriteLock: destruction while held for upgradable reading",
      ["ReadWriteLock \"table\": destroyed while held for upgradable reading by <owner>"]
    ) {
      let placed = Placed(ReadWriteLock(label: "table"))
      try on("owner") {
        placed.use { $0.upgradableLock() }
        try on("stranger") { placed.destroy() }
      }
    },
    MisuseCase(
      "ReadWriteLock: destruction while held for reading",
      ["ReadWriteLock \"table\": destroyed while held for reading by 1 threads", "by <stranger>"]
    ) {
      let placed = Placed(ReadWriteLock(label: "table"))
      try on("owner") {
        placed.use { $0.readLock() }
        try on("stranger") { placed.destroy() }
      }
    },
    MisuseCase(
      "ReadWriteLock: destruction while held for reading by a stripe",
      ["ReadWriteLock \"table\": destroyed while held by <owner>", "by <stranger>"]
    ) {
      let placed = Placed(ReadWriteLock(label: "table"))
      try on("owner") {
        placed.use { $0.withReadLock { placed.use { $0.turnOnStripes() } } }
        placed.use { $0.readLock() }
        try on("stranger") { placed.destroy() }
      }
    },
    MisuseCase(
      "ReadWriteLock: destruction while waited on",
      [
        "ReadWriteLock \"table\": destroyed while held for writing by <owner> and waited for by "
          + "<waiter>, at 0x", "by <stranger>",
      ]
    ) {
      let placed = Placed(ReadWriteLock(label: "table"))
      try on("owner") {
        placed.use { $0.writeLock() }
        try asleep("waiter") { placed.use { $0.readLock() } }
        try on("stranger") { placed.destroy() }
      }
    },
  ]
}
