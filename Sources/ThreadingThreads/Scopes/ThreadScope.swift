internal import ThreadingLocks
public import ThreadingPlatform

/// Threads that all end before the scope that started them is left; see
/// ``withThreads(_:)``.
///
/// - Note: Safe to use from any thread, in particular from those of the scope.
public final class ThreadScope: Sendable {
  private let lock = FastMutex()
  // SAFETY of nonisolated(unsafe): only touched with `lock` held.
  private nonisolated(unsafe) var state = State()

  private struct State {
    var isOpen = true
    /// Threads that may still run, or are being started. A thread that one of the scope starts stands
    /// behind that one.
    var threads: [ThreadHandle] = []
    /// At how many entries those that have ended are sorted out.
    var limit = 16
    var firstError: (any Error)?
    /// What joins the threads that run on stacks of the caller's, which only a join gives back.
    var joins: [(thread: ThreadHandle, join: @Sendable () -> Void)] = []
    var isCancelled = false
    var reason: String?
  }

  /// The thread that has entered the scope.
  private let owner: ThreadHandle

  fileprivate init(owner: ThreadHandle) { self.owner = owner }

  /// Starts a thread of the scope.
  ///
  /// If the body throws, its error ends the scope: the other threads are cancelled, and the scope
  /// throws it when all have ended.
  ///
  /// - Parameters:
  ///   - attributes: what to start it with.
  ///   - body: what it runs.
  /// - Returns: the running thread, which may be joined for its value. If the scope is cancelled
  ///   already, the thread is too.
  /// - Throws: a ``ThreadingError`` when an attribute is out of range or the system refuses; the scope is
  ///   not ended by that.
  /// - Precondition: The scope has not been left. If it has, the program stops.
  @discardableResult
  public func start<Output: Sendable>(
    _ attributes: ThreadAttributes = ThreadAttributes(),
    _ body: @escaping @Sendable () throws -> Output
  ) throws(ThreadingError) -> PosixThread<Output, any Error> {
    let thread = PosixThread<Output, any Error>(attributes) { [self] in
      do {
        return try body()
      } catch {
        fail(error)
        throw error
      }
    }
    // Entered before the start, so that the scope cannot be left between the two.
    enter(thread.handle)
    unsafe thread.handle.scopeOwner = owner
    if attributes.stack != nil {
      // Waits for nothing but the last steps of a thread that has finished.
      withState { state in
        state.joins.append((thread.handle, { _ = try? thread.result(until: .distantFuture) }))
      }
    }
    do throws(ThreadingError) {
      try thread.start()
    } catch {
      withState { state in
        state.threads.removeAll { $0 === thread.handle }
        state.joins.removeAll { $0.thread === thread.handle }
      }
      throw error
    }
    return thread
  }

  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    lock.withLock { unsafe body(&state) }
  }

  // Forks of the thread that is in the scope, see ForkGuard.

  func beforeFork() {
    lock.lock()
    lock.freeInForkedChild()
  }

  func afterForkInParent() { lock.unlock() }

  private func enter(_ handle: ThreadHandle) {
    let reason: String?? = withState { state in
      require(state.isOpen, "ThreadScope.start: the scope has been left")
      if state.threads.count >= state.limit {
        state.threads.removeAll { $0.state == .finished }
        state.limit = max(16, state.threads.count * 2)
      }
      state.threads.append(handle)
      return state.isCancelled ? .some(state.reason) : .none
    }
    if let reason { handle.cancel(reason: reason) }
  }

  /// Asks all threads of the scope to finish early, those to come included.
  ///
  /// - Parameter reason: as for ``ThreadHandle/cancel(reason:)``.
  public func cancel(reason: String? = nil) {
    let threads: [ThreadHandle] = withState { state in
      guard !state.isCancelled else { return [] }
      state.isCancelled = true
      state.reason = reason
      return state.threads
    }
    for thread in threads { thread.cancel(reason: reason) }
  }

  fileprivate func fail(_ error: any Error) {
    withState { state in
      if state.firstError == nil { state.firstError = error }
    }
    cancel(reason: "another part of the scope has failed: \(error)")
  }

  /// Waits until no thread is left, and closes the scope.
  ///
  /// The threads are awaited in their order, and stay in the list meanwhile, for ``cancel(reason:)``. So
  /// when one is awaited, the thread of the scope that started it has ended, and its start is over.
  ///
  /// - Returns: the first error of a thread.
  fileprivate func leave() -> (any Error)? {
    while true {
      let present: [ThreadHandle] = withState { state in
        // After a fork, the child does not wait for what the parent has kept, nor for what a thread of
        // the parent's was about to start.
        state.threads.removeAll { $0.state == .finished || $0.isOlderThanFork }
        if state.threads.isEmpty { state.isOpen = false }
        return state.threads
      }
      if present.isEmpty { break }
      for thread in present {
        let state = thread.withScopeWait {
          thread.phase.wait(until: .distantFuture, while: { $0 == .starting || $0 == .running })
        }
        // A thread that is not of the scope is between entering and starting one.
        if state == .notStarted { SystemThread.yield() }
      }
    }
    var joins: [(thread: ThreadHandle, join: @Sendable () -> Void)] = []
    let firstError = withState { state in
      swap(&joins, &state.joins)
      return state.firstError
    }
    for entry in joins { entry.join() }
    return firstError
  }
}

/// Runs `body` with a scope to start threads in, and returns only when all of them have ended.
///
/// ```swift
/// let halves = try withThreads { scope in
///   let left = try scope.start { sum(numbers[..<middle]) }
///   let right = try scope.start { sum(numbers[middle...]) }
///   return (try left.join(), try right.join())
/// }
/// ```
///
/// If a thread of the scope or `body` throws, the other threads are cancelled. So are all of them if the
/// calling thread is cancelled.
///
/// Everything that the threads wrote happens before the return, and stacks of the caller's that they ran
/// on are free.
///
/// A thread of the scope that joins the one that has entered it is refused (`EDEADLK`): that one cannot
/// end before.
///
/// - Parameter body: starts the threads. It may join them, or leave that to the scope.
/// - Returns: what `body` returned.
/// - Throws: the first error that a thread of the scope or `body` threw.
@available(*, noasync, message: "withThreads blocks the calling thread")
public func withThreads<Output>(_ body: (ThreadScope) throws -> Output) throws -> Output {
  let caller = ThreadHandle.current
  let scope = ThreadScope(owner: caller)
  caller.enter(scope)
  defer { caller.leaveScope() }
  return try ThreadHandle.withCancellationHandler({
    scope.cancel(reason: caller.cancellationReason)
  }) {
    let outcome = Result { try body(scope) }
    if case .failure(let error) = outcome { scope.fail(error) }
    if let error = scope.leave() { throw error }
    return try outcome.get()
  }
}
