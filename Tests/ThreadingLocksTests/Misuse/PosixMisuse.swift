import ThreadingLocks

extension PosixMutex.Attributes {
  fileprivate static let checked = [
    PosixMutex.Attributes(), PosixMutex.Attributes(kind: .adaptive),
    PosixMutex.Attributes(priorityProtocol: .inherit),
  ]

  fileprivate var summary: String {
    "PosixMutex (\(kind)\(priorityProtocol == .none ? "" : ", inherit")\(isRobust ? ", robust" : ""))"
  }
}

extension MisuseCase {
  static let posix = mutex + others

  private static let mutex: [MisuseCase] =
    PosixMutex.Attributes.checked.flatMap { attributes in
      [
        MisuseCase(
          "\(attributes.summary): relock",
          ["PosixMutex \"device\": locked again by its owner, <owner>"]
        ) {
          let mutex = try PosixMutex(attributes, label: "device")
          try on("owner") {
            try mutex.lock()
            try mutex.lock()
          }
        },
        MisuseCase(
          "\(attributes.summary): unlock by a stranger",
          ["PosixMutex \"device\": held by <owner>, but unlock was called by <stranger>"]
        ) {
          let mutex = try PosixMutex(attributes, label: "device")
          try on("owner") {
            try mutex.lock()
            try on("stranger") { try mutex.unlock() }
          }
        },
        MisuseCase(
          "\(attributes.summary): unlock of an unlocked one",
          ["PosixMutex \"device\": held by nobody, but unlock was called by <stranger>"]
        ) {
          let mutex = try PosixMutex(attributes, label: "device")
          try on("stranger") { try mutex.unlock() }
        },
      ]
    }
    + (PosixMutex.Attributes.checked + [
      PosixMutex.Attributes(kind: .errorChecking), PosixMutex.Attributes(kind: .recursive),
      PosixMutex.Attributes(isRobust: true),
    ]).map { attributes in
      MisuseCase(
        "\(attributes.summary): destruction while held",
        ["PosixMutex \"device\": destroyed while held by <owner>, by <stranger>"]
      ) {
        let mutex = Overreleased(try PosixMutex(attributes, label: "device"))
        try on("owner") {
          try mutex.use { _ = try $0.lock() }
          try on("stranger") { mutex.destroy() }
        }
      }
    }

  private static let others: [MisuseCase] = [
    MisuseCase(
      "PosixCondition: wait with a stranger's mutex",
      ["PosixMutex \"device\": held by <owner>, but PosixCondition.wait was called by <stranger>"]
    ) {
      let mutex = try PosixMutex(label: "device")
      let condition = try PosixCondition(label: "filled")
      try on("owner") {
        try mutex.lock()
        try on("stranger") { try condition.wait(mutex) }
      }
    },
    MisuseCase(
      "PosixCondition: wait with a mutex that is held twice",
      ["PosixMutex \"device\": held 2 times by the thread that called PosixCondition.wait, <owner>"]
    ) {
      let mutex = try PosixMutex(.init(kind: .recursive), label: "device")
      let condition = try PosixCondition(label: "filled")
      try on("owner") {
        try mutex.lock()
        try mutex.lock()
        try condition.wait(mutex)
      }
    },
    MisuseCase(
      "PosixMutex: destruction while waited with",
      ["PosixMutex \"device\": destroyed while held, or while threads wait", "by <stranger>"]
    ) {
      let mutex = Overreleased(try PosixMutex(label: "device"))
      let condition = try PosixCondition(label: "filled")
      try asleep("waiter") {
        mutex.use {
          _ = try? $0.lock(); _ = try? condition.wait($0)
        }
      }
      try on("stranger") { mutex.destroy() }
    },
    MisuseCase(
      "PosixCondition: destruction while waited on",
      ["PosixCondition \"filled\": destroyed while 1 threads wait, by <stranger>"]
    ) {
      let mutex = try PosixMutex(label: "device")
      let condition = Overreleased(try PosixCondition(label: "filled"))
      try asleep("waiter") {
        _ = try? mutex.lock()
        condition.use { _ = try? $0.wait(mutex) }
      }
      try on("stranger") { condition.destroy() }
    },

    // The C library refuses a writer that comes again with an error.
    MisuseCase(
      "PosixReadWriteLock: unlock by a stranger",
      ["PosixReadWriteLock \"table\": held for writing by <owner>, but unlock", "by <stranger>"]
    ) {
      let lock = try PosixReadWriteLock(label: "table")
      try on("owner") {
        try lock.writeLock()
        try on("stranger") { try lock.unlock() }
      }
    },
    MisuseCase(
      "PosixReadWriteLock: unlock of an unlocked one",
      ["PosixReadWriteLock \"table\": held by nobody, but unlock was called by <stranger>"]
    ) {
      let lock = try PosixReadWriteLock(label: "table")
      try on("stranger") { try lock.unlock() }
    },
    MisuseCase(
      "PosixReadWriteLock: destruction while held for writing",
      ["PosixReadWriteLock \"table\": destroyed while held for writing by <owner>, by <stranger>"]
    ) {
      let lock = Overreleased(try PosixReadWriteLock(label: "table"))
      try on("owner") {
        try lock.use { try $0.writeLock() }
        try on("stranger") { lock.destroy() }
      }
    },
    MisuseCase(
      "PosixReadWriteLock: destruction while held for reading",
      ["PosixReadWriteLock \"table\": destroyed while held for reading by 1 threads, by <stranger>"]
    ) {
      let lock = Overreleased(try PosixReadWriteLock(label: "table"))
      try on("owner") {
        try lock.use { try $0.readLock() }
        try on("stranger") { lock.destroy() }
      }
    },

    MisuseCase(
      "PosixSpinLock: relock", ["PosixSpinLock \"ring\": locked again by its owner, <owner>"]
    ) {
      let lock = try PosixSpinLock(label: "ring")
      try on("owner") {
        lock.lock()
        lock.lock()
      }
    },
    MisuseCase(
      "PosixSpinLock: unlock by a stranger",
      ["PosixSpinLock \"ring\": held by <owner>, but unlocked by <stranger>"]
    ) {
      let lock = try PosixSpinLock(label: "ring")
      try on("owner") {
        lock.lock()
        try on("stranger") { lock.unlock() }
      }
    },
    MisuseCase(
      "PosixSpinLock: unlock of an unlocked one",
      ["PosixSpinLock \"ring\": held by nobody, but unlocked by <stranger>"]
    ) {
      let lock = try PosixSpinLock(label: "ring")
      try on("stranger") { lock.unlock() }
    },
    MisuseCase(
      "PosixSpinLock: destruction while held",
      ["PosixSpinLock \"ring\": destroyed while held by <owner>, by <stranger>"]
    ) {
      let lock = Overreleased(try PosixSpinLock(label: "ring"))
      try on("owner") {
        lock.use { $0.lock() }
        try on("stranger") { lock.destroy() }
      }
    },

    MisuseCase(
      "PosixBarrier: destruction while waited on",
      ["PosixBarrier \"step\": destroyed while 1 threads wait, by <stranger>"]
    ) {
      let barrier = Overreleased(try PosixBarrier(2, label: "step"))
      try asleep("waiter") { barrier.use { _ = $0.wait() } }
      try on("stranger") { barrier.destroy() }
    },
    MisuseCase(
      "PosixSemaphore: destruction while waited on",
      ["PosixSemaphore \"jobs\": destroyed while 1 threads wait, by <stranger>"]
    ) {
      let semaphore = Overreleased(try PosixSemaphore(0, label: "jobs"))
      try asleep("waiter") { semaphore.use { $0.wait() } }
      try on("stranger") { semaphore.destroy() }
    },
  ]
}
