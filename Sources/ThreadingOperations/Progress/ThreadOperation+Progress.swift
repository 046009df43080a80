internal import ThreadingLocks

extension ThreadOperation {
  /// How much of the operation's work is done, as far as its `main()` counts it: made when it is first asked
  /// for, with a total of 0.
  ///
  /// ```swift
  /// override func main() {
  ///   progress.addTotal(files.count)
  ///   for file in files {
  ///     if isCancelled { return }
  ///     copy(file)
  ///     progress.advance()
  ///   }
  /// }
  /// ```
  ///
  /// When the operation has completed, all units count as done, before dependants start. When it was cancelled
  /// or has failed, the counts stay where they were.
  public final var progress: WorkProgress {
    lock.lock()
    if let present = extras?.progress {
      lock.unlock()
      return present
    }
    let made = WorkProgress()
    makeExtras().progress = made
    lock.unlock()
    addCompletion { operation in
      if case .completed = operation.outcome { made.complete() }
    }
    return made
  }
}

extension ThreadOperationQueue {
  /// Counts the queue's operations from now on: the total is how many are in the queue, and grows with each one
  /// that is added; one that has finished counts as done, whichever way it ended, cancelled ones too.
  ///
  /// ```swift
  /// let progress = queue.trackProgress()
  /// progress.observe(on: .main) { print("\($0.completed) of \($0.total)") }
  /// ```
  ///
  /// A queue counts for one ``WorkProgress`` at a time: what an earlier call returned counts no longer. An
  /// observer without a loop is called on the queue's threads, and holds up those that wait for the operation.
  ///
  /// - Returns: the counts.
  public func trackProgress() -> WorkProgress { core.trackProgress() }
}
