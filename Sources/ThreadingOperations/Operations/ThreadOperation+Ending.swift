internal import Synchronization
internal import ThreadingLocks

extension ThreadOperation {
  /// Asks the operation not to start or, if it has started, to end early.
  ///
  /// One that has not started waits for its dependencies no longer and finishes without its ``main()``
  /// being called: in a queue when its turn comes, by hand when it is started. Its completion blocks run
  /// and its dependants are released as after any other end. One that executes goes on until it looks at
  /// ``isCancelled`` or, if it is asynchronous, until ``finish()`` is called; cancellation handlers tell
  /// it. Cancelling a finished operation, or cancelling twice, changes nothing.
  public final func cancel() {
    if let before = markCancelled() { wasCancelled(before) }
  }

  /// The first half of ``cancel()``: from now on the operation does not start.
  ///
  /// - Parameter ifNotStarted: has it do nothing to one that executes.
  /// - Returns: what the word was before, for ``wasCancelled(_:)``; nil if there is nothing to do.
  final func markCancelled(ifNotStarted: Bool = false) -> OperationWord? {
    update { word in
      guard !word.isOver, !word.has(OperationWord.cancelled) else { return false }
      if ifNotStarted, word.hasStarted { return false }
      word.bits |= OperationWord.cancelled
      return true
    }
  }

  /// The second half of ``cancel()``: lets go of what it waits for, and tells its handlers.
  final func wasCancelled(_ before: OperationWord) {
    if !before.hasStarted { letGoOfDependencies() }
    guard before.has(OperationWord.hasHandlers) else { return }
    for handler in takeHandlers() { handler(self) }
  }

  /// Calls `block` once, when the operation has finished, whichever way: right after the work, before
  /// dependants start and before threads that wait go on, on the thread that finished it.
  ///
  /// Blocks run in the order in which they were added and are released after they have run. If the
  /// operation has finished already and its blocks have run, `block` is called at once, on the calling
  /// thread. A block should be short: dependants and waiters wait for it.
  ///
  /// - Parameter block: what to call; it is handed the operation, so it need not capture it.
  public final func addCompletion(_ block: @escaping @Sendable (ThreadOperation) -> Void) {
    lock.lock()
    let seen = update { word in
      guard !word.has(OperationWord.isClosed) else { return false }
      word.bits |= OperationWord.hasCompletions
      return true
    }
    // Whoever runs the blocks takes the lock after it has seen the flag.
    if seen != nil { makeExtras().completions.append(block) }
    lock.unlock()
    if seen == nil { block(self) }
  }

  /// Calls `handler` once if the operation is cancelled before it has finished, on the thread that
  /// cancels it; at once, on the calling thread, if it was cancelled already.
  ///
  /// Handlers of an operation that was not cancelled are released when it finishes. A handler may be called while
  /// the operation is finishing or shortly after.
  ///
  /// - Parameter handler: what to call; it is handed the operation, so it need not capture it.
  public final func addCancellationHandler(
    _ handler: @escaping @Sendable (ThreadOperation) -> Void
  ) {
    lock.lock()
    let seen = update { word in
      guard !word.isOver, !word.has(OperationWord.cancelled) else { return false }
      word.bits |= OperationWord.hasHandlers
      return true
    }
    // Whoever cancels or finishes takes the lock after it has seen the flag.
    if seen != nil { makeExtras().cancellationHandlers.append(handler) }
    lock.unlock()
    if seen == nil, isCancelled { handler(self) }
  }

  /// Takes the cancellation handlers out: to be called, or to be released.
  @discardableResult
  final func takeHandlers() -> [@Sendable (ThreadOperation) -> Void] {
    lock.lock()
    defer { lock.unlock() }
    let handlers = extras?.cancellationHandlers ?? []
    extras?.cancellationHandlers = []
    return handlers
  }
}
