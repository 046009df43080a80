import Threading

extension ConditionsChapter {
  static func signalIsLost() -> Bool {
    // snippet: lost
    let mutex = FastMutex()
    let condition = ConditionVariable()
    condition.signal()  // nobody waits, nobody is woken
    let limit = MonotonicInstant.now.advanced(by: .milliseconds(20))
    mutex.withLock {
      while condition.wait(mutex, until: limit) {}
    }
    // end
    return MonotonicInstant.now >= limit
  }

  static func eventIsKept() -> Bool {
    // snippet: event
    let event = ResetEvent(.automatic)
    event.set()
    return event.wait(for: .zero)
    // end
  }

  /// Three threads wait for an item; all are woken when there is one.
  ///
  /// - Returns: how many got it, and how often they looked for it.
  static func wakeThree() throws -> (served: Int, looks: Int) {
    let hall = Hall()
    let threads = try (1...3).map { _ in try PosixThread.start { hall.waitForItem() } }
    hall.waitUntilAllHaveLooked(3)
    hall.putOneAndWakeAll()
    hall.waitUntilAllHaveLooked(6)
    hall.close()
    let served = try threads.map { try $0.join() }
    return (served.count { $0 }, hall.looks)
  }

  /// Where threads wait for an item.
  final class Hall: Sendable {
    private let mutex = FastMutex()
    private let condition = ConditionVariable()
    // SAFETY: touched with the mutex held alone.
    private nonisolated(unsafe) var items = 0
    private nonisolated(unsafe) var isClosed = false
    private let looking = AtomicCounter()

    var looks: Int { looking.value }

    // snippet: look
    func waitForItem() -> Bool {
      mutex.withLock {
        condition.wait(mutex) {
          looking.increment()
          return unsafe items > 0 || isClosed
        }
        guard unsafe items > 0 else { return false }
        unsafe items -= 1
        return true
      }
    }
    // end

    func waitUntilAllHaveLooked(_ count: Int) {
      _ = looking.wait { $0 >= count }
      // Whoever has looked and found nothing sleeps when the mutex is free again.
      mutex.withLock {}
    }

    func putOneAndWakeAll() {
      mutex.withLock { unsafe items += 1 }
      condition.broadcast()
    }

    func close() {
      mutex.withLock { unsafe isClosed = true }
      condition.broadcast()
    }
  }
}
