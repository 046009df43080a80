import Threading

extension LocksChapter {
  static func relock() {
    // snippet: relock
    let lock = FastMutex()
    lock.lock()
    lock.lock()  // stops here, with a message
    // end
  }

  static func unlockByStranger() throws {
    let lock = FastMutex()
    let isTaken = CountdownLatch(1)
    let owner = try PosixThread.start(ThreadAttributes(name: "owner")) {
      lock.lock()
      isTaken.countDown()
      while true { try? ThreadHandle.sleep(for: .seconds(1)) }
    }
    isTaken.wait()
    try PosixThread.start(ThreadAttributes(name: "stranger")) { lock.unlock() }.join()
    try owner.join()
  }

  /// How often a recursive lock was taken by the calling thread, when it was taken in three functions
  /// that call each other.
  static func recurse() -> Int {
    // snippet: recursive
    let lock = RecursiveLock()
    return lock.withLock {
      lock.withLock {
        lock.withLock { lock.depth }
      }
    }
    // end
  }

  static func errorOfRelocking() throws -> String? {
    // snippet: posix
    let mutex = try PosixMutex(.init(kind: .errorChecking))
    return try mutex.withLock { _ in
      do throws(ThreadingError) {
        _ = try mutex.lock()
        return nil
      } catch {
        return error.codeName
      }
    }
    // end
  }
}
