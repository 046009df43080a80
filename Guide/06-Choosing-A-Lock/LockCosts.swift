import Threading

extension LocksChapter {
  /// Nanoseconds to take each lock and give it back.
  static func costs() throws -> [(String, Double)] {
    let fast = FastMutex()
    let locked = Locked(0)
    let recursive = RecursiveLock()
    let readWrite = ReadWriteLock()
    let fair = FairMutex()
    let spin = try PosixSpinLock()
    let posix = try PosixMutex()
    let inherit = try PosixMutex(.init(priorityProtocol: .inherit))
    return [
      ("FastMutex", each { fast.withLock {} }),
      ("Locked", each { locked.withLock { $0 += 1 } }),
      ("RecursiveLock", each { recursive.withLock {} }),
      ("ReadWriteLock, reading", each { readWrite.withReadLock {} }),
      ("FairMutex", each { fair.withLock {} }),
      ("PosixSpinLock", each { spin.withLock {} }),
      ("PosixMutex", each { posixly(posix) }),
      ("PosixMutex with inheritance", each { posixly(inherit) }),
    ]
  }

  private static func posixly(_ mutex: PosixMutex) {
    guard (try? mutex.lock()) != nil else { preconditionFailure("a free mutex was refused") }
    try? mutex.unlock()
  }

  private static func each(_ body: () -> Void) -> Double {
    let times = 5_000
    return Stopwatch.nanoseconds(perEachOf: times) {
      for _ in 0..<times { body() }
    }
  }
}
