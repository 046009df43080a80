import Threading

extension LocksChapter {
  /// Whether three threads hold the lock for reading at the same time: they wait for each other inside.
  static func readersMeet() throws -> Bool {
    let lock = ReadWriteLock()
    let meeting = CyclicBarrier(3)
    // snippet: readers
    let readers = try (1...3).map { _ in
      try PosixThread.start {
        lock.withReadLock { meeting.wait(for: .seconds(20)).isPassed }
      }
    }
    // end
    return try readers.map { try $0.join() }.allSatisfy { $0 }
  }

  static func writerGetsInBesideReader() throws -> Bool {
    let lock = ReadWriteLock()
    return try lock.withReadLock {
      try PosixThread.start {
        guard lock.tryWriteLock() else { return false }
        lock.writeUnlock()
        return true
      }.join()
    }
  }
}
