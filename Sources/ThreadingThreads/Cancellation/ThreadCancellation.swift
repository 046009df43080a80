internal import Synchronization
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

  /// Why, if that was said. Written once, before the request, and not guarded: a forked child has it
  /// whole whenever it sees the request.
  private let givenReason = AtomicLazyReference<Reason>()

  private final class Reason: Sendable {
    let text: String
    init(_ text: String) { self.text = text }
  }

  private struct Record {
    /// The thread has ended: no more handlers are kept.
    var isRetired = false
    var nextNumber = 0
    /// In the order in which they were added.
    var handlers: [(number: Int, body: @Sendable () -> Void)] = []
    /// The handler that runs at this moment, if there is a `runner`.
    var runningNumber = 0
  }

  /// The kernel's id of the thread on which a handler runs at this moment, or 0. Changed with `mutex`
  /// held. relaxed: that orders it.
  private let runner = Atomic<UInt32>(0)

  @usableFromInline
  init() {}

  /// acquiring: what was written before the request is visible to who sees it.
  @inlinable
  var isAsked: Bool { interruption.isAsked }

  var reason: String? { isAsked ? givenReason.load()?.text : nil }

  /// Cancels a thread that a fork has left behind: there is nothing to be woken and nobody to be called,
  /// and a thread that is gone may hold the mutex.
  func cancelLost(reason: String?) {
    if isAsked { return }
    if let reason { _ = givenReason.storeIfNil(Reason(reason)) }
    _ = interruption.ask()
  }

  func cancel(reason: String?) {
    let request: WaitInterruption.Request? = mutex.withLock {
      guard !isAsked else { return nil }
      if let reason { _ = givenReason.storeIfNil(Reason(reason)) }
      // With the mutex held: a handler that is added from now on is called at once.
      return interruption.ask()
    }
    guard let request else { return }
    interruption.finish(request)
    let generation = SystemProcess.forkGeneration
    while let body = takeHandler() {
      body()
      // The handler has forked, and this is the child. The thread is gone and may hold the mutex, unless
      // it is the one that calls, see `beforeFork`.
      if generation != SystemProcess.forkGeneration, ThreadHandle.current.cancellation !== self {
        return
      }
      mutex.withLock { runner.store(0, ordering: .relaxed) }
      handlerEnded.broadcast()
    }
  }

  private func takeHandler() -> (@Sendable () -> Void)? {
    mutex.withLock {
      guard unsafe !record.handlers.isEmpty else { return nil }
      let first = unsafe record.handlers.removeFirst()
      unsafe record.runningNumber = first.number
      runner.store(SystemThread.currentID, ordering: .relaxed)
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
      let runner = runner.load(ordering: .relaxed)
      let isRunning = unsafe runner != 0 && record.runningNumber == number
      return !isRunning || runner == SystemThread.currentID
    }
    mutex.unlock()
    _ = removed
  }

  /// For the thread that forks, which may be in one of its own handlers. In the child, another thread that
  /// was in one is gone, and the handler with it.
  func beforeFork() {
    mutex.lock()
    mutex.freeInForkedChild()
    SystemProcess.store(.threadIDIfOwn, in: runner)
  }

  func afterForkInParent() { mutex.unlock() }

  /// Drops the handlers of a thread that has ended, now and from now on.
  func retire() {
    var dropped: [(number: Int, body: @Sendable () -> Void)] = []
    mutex.withLock {
      unsafe record.isRetired = true
      unsafe swap(&dropped, &record.handlers)
    }
  }
}
