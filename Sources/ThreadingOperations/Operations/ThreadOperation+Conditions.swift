internal import Synchronization
internal import ThreadingLocks

extension ThreadOperation {
  /// What an operation does when one that it depends on has not completed: was cancelled, or has failed.
  public enum FailureRule: Sendable, Hashable {
    /// It runs all the same.
    case runAnyway
    /// It is cancelled, for the reason ``ThreadOperationError/Reason/dependencyFailed``, before it could start.
    case cancel
  }

  /// Has this operation wait until another has finished, and says what is to happen if that one does not
  /// complete.
  ///
  /// - Parameters:
  ///   - other: the operation to wait for.
  ///   - rule: what to do if it fails or is cancelled. It holds also when the other has finished already.
  /// - Throws: as ``addDependency(_:)``.
  public final func addDependency(
    _ other: ThreadOperation, onFailure rule: FailureRule
  ) throws(ThreadOperationError) {
    try addDependency(other)
    guard rule == .cancel else { return }
    // Without one if the other has finished.
    let isLinked = dependencies.contains { $0 === other }
    // Completion blocks run before dependants may start, so this one cannot start first.
    other.addCompletion { [weak self] other in
      guard let self else { return }
      if case .completed = other.outcome { return }
      // Removed meanwhile, and the rule with it.
      if isLinked, !dependencies.contains(where: { $0 === other }) { return }
      cancel(
        reason: ThreadOperationError(
          .dependencyFailed, other, "\(label) was cancelled: \(other) did not complete"))
    }
  }

  /// Has the operation start only if `condition` does not throw. It is asked when the operation's turn has come,
  /// on the thread that would run it; if it throws, the operation has failed with that error and ``main()`` is
  /// not called.
  ///
  /// Conditions are asked in the order in which they were added, up to the first that throws, and are released
  /// with the operation's end.
  ///
  /// - Parameter condition: what to ask; it is handed the operation.
  /// - Throws: ``ThreadOperationError/Reason/hasStarted`` if the operation has started or finished.
  public final func addCondition(
    _ condition: @escaping @Sendable (ThreadOperation) throws -> Void
  ) throws(ThreadOperationError) {
    lock.lock()
    let before = update { word in
      guard !word.hasStarted else { return false }
      word.bits |= OperationWord.hasConditions
      return true
    }
    // Whoever starts it takes the lock after it has seen the flag.
    if before != nil { makeExtras().conditions.append(condition) }
    lock.unlock()
    guard before != nil else {
      throw ThreadOperationError(
        .hasStarted, self, "\(self) cannot take a condition: it has started")
    }
  }

  /// Asks the conditions, and lets go of them.
  final func checkConditions() throws {
    let conditions = lock.withLock {
      let conditions = extras?.conditions ?? []
      extras?.conditions = []
      return conditions
    }
    for condition in conditions { try condition(self) }
  }

  /// Lets go of conditions that are not asked.
  final func dropConditions() {
    let conditions = lock.withLock {
      let conditions = extras?.conditions ?? []
      extras?.conditions = []
      return conditions
    }
    withExtendedLifetime(conditions) {}
  }

  /// Asks the operation not to start or to end early, as ``cancel()``, and says why.
  ///
  /// - Parameter reason: what ``cancellationReason`` tells. Of several, the first is kept.
  public final func cancel(reason: any Error) {
    lock.withLock {
      guard !isCancelled, !isFinished else { return }
      let extras = makeExtras()
      if extras.cancellationReason == nil { extras.cancellationReason = reason }
    }
    cancel()
  }

  /// Why it was cancelled; nil if it was not, or no reason was given.
  public final var cancellationReason: (any Error)? {
    isCancelled ? lock.withLock { extras?.cancellationReason } : nil
  }

  /// Throws if the operation has been cancelled: the reason that was given, or a ``ThreadOperationError`` of
  /// reason ``ThreadOperationError/Reason/cancelled``. For a `main()` to call from time to time.
  ///
  /// - Throws: the reason of the cancellation.
  public final func checkCancellation() throws {
    guard isCancelled else { return }
    if let reason = cancellationReason { throw reason }
    throw ThreadOperationError(.cancelled, self, "\(self) was cancelled")
  }
}
