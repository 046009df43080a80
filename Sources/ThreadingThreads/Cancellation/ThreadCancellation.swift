internal import ThreadingLocks
public import ThreadingPlatform

/// Whether a thread was asked to finish, why, and who wants to know.
@usableFromInline
final class ThreadCancellation: Sendable {
  /// Holds the request, and ends the thread's waits.
  @usableFromInline let interruption = WaitInterruption()

  private let mutex = FastMutex()
  private let handlerEnded = ConditionVariable()

  // SAFETY of nonisolated(unsafe): only touched with `mutex` held.
  private nonisolated(unsafe) var record = Record()

  private struct Record {
    var reason: String?
    /// The thread has ended: no more handlers are kept.
    var isRetired = false
    var nextNumber = 0
    /// In the order in which they were added.
    var handlers: [(number: Int, body: @Sendable () -> Void)] = []
    /// The handler that runs at this moment, and where.
    var running: (number: Int, thread: UInt32)?
  }

  @usableFromInline
  init() {}

  /// acquiring: what was written before the request is visible to who sees it.
  @inlinable
  var isAsked: Bool { interruption.isAsked }

  var reason: String? { mutex.withLock { unsafe record.reason } }

  func cancel(reason: String?) {
    let request: WaitInterruption.Request? = mutex.withLock {
      guard !isAsked else { return nil }
      unsafe record.reason = reason
      // With the mutex held: a handler that is added from now on is called at once.
      return interruption.ask()
    }
    guard let request else { return }
    interruption.finish(request)
    while let body = takeHandler() {
      body()
      mutex.withLock { unsafe record.running = nil }
      handlerEnded.broadcast()
    }
  }

  private func takeHandler() -> (@Sendable () -> Void)? {
    mutex.withLock {
      guard unsafe !record.handlers.isEmpty else { return nil }
      let first = unsafe record.handlers.removeFirst()
      unsafe record.running = (first.number, SystemThread.currentID)
      return first.body
    }
  }

  /// - Returns: the handler's number, or nil when the request was made before: the caller then calls
  ///   the handler itself.
  func add(_ handler: @escaping @Sendable () -> Void) -> Int? {
    mutex.withLock {
      guard !isAsked else { return nil }
      unsafe record.nextNumber += 1
      if unsafe !record.isRetired {
        unsafe record.handlers.append((record.nextNumber, handler))
      }
      return unsafe record.nextNumber
    }
  }

  /// Takes a handler back; waits for it if it is being called, unless by the calling thread.
  func remove(_ number: Int) {
    var removed: (@Sendable () -> Void)?
    mutex.lock()
    if let index = unsafe record.handlers.firstIndex(where: { $0.number == number }) {
      // Released with the mutex free again, at the end of the scope.
      removed = unsafe record.handlers.remove(at: index).body
    }
    handlerEnded.wait(mutex) {
      guard let running = unsafe record.running, running.number == number else { return true }
      return running.thread == SystemThread.currentID
    }
    mutex.unlock()
    _ = removed
  }

  /// Drops the handlers of a thread that has ended, now and from now on.
  func retire() {
    var dropped: [(number: Int, body: @Sendable () -> Void)] = []
    mutex.withLock {
      unsafe record.isRetired = true
      unsafe swap(&dropped, &record.handlers)
    }
  }
}
