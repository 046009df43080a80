public import Foundation
public import Threading

extension ThreadOperation {
  /// Shows the operation's ``ThreadOperation/progress`` as a `Progress` of Foundation, and cancels both ways: a
  /// cancelled `Progress` cancels the operation, and a cancelled operation its `Progress`.
  ///
  /// Foundation's class guards its counts by no lock, so they are set by the loop's thread alone, once for each
  /// percent; read them there. Cancelling it may be done there too; Foundation then calls the operation's
  /// ``ThreadOperation/cancel()`` on a thread of its own.
  ///
  /// - Parameter loop: whose thread sets the counts.
  /// - Returns: a new `Progress`. While it is kept, it keeps the operation.
  public final func foundationProgress(on loop: ThreadRunLoop = .main) -> Foundation.Progress {
    let shown = Foundation.Progress(totalUnitCount: 0)
    shown.cancellationHandler = { [self] in cancel() }
    weak let weakly = shown
    progress.observe(on: loop) { counts in
      weakly?.show(counts)
    }
    addCancellationHandler { _ in
      loop.perform {
        if let shown = weakly, !shown.isCancelled { shown.cancel() }
      }
    }
    return shown
  }
}

extension ThreadOperationQueue {
  /// Counts the queue's operations from now on, see ``ThreadOperationQueue/trackProgress()``, in a `Progress` of
  /// Foundation. Cancelling that cancels all operations that are in the queue at that moment, and those count as
  /// done when they have finished.
  ///
  /// As with operations, the counts are set by the loop's thread alone, once for each percent.
  ///
  /// - Parameter loop: whose thread sets the counts.
  /// - Returns: a new `Progress`. While it is kept, it keeps the queue.
  public func foundationProgress(on loop: ThreadRunLoop = .main) -> Foundation.Progress {
    let shown = Foundation.Progress(totalUnitCount: 0)
    shown.cancellationHandler = { [self] in cancelAll() }
    weak let weakly = shown
    trackProgress().observe(on: loop) { counts in
      weakly?.show(counts)
    }
    return shown
  }
}

extension Foundation.Progress {
  fileprivate func show(_ counts: WorkProgress.Counts) {
    totalUnitCount = Int64(counts.total)
    completedUnitCount = Int64(min(counts.completed, counts.total))
  }
}
