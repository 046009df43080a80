internal import Synchronization
internal import ThreadingPlatform

extension ThreadHandle {
  /// Waits, in asynchronous code, until the thread has finished. No thread is blocked meanwhile.
  ///
  /// For any thread: joinable or detached, of either family, or of other origin. The main thread does not
  /// finish before the process does, so a wait for it lasts until the waiting task is cancelled.
  ///
  /// Everything that the thread wrote, and the release of what it had stored, happens before the return.
  /// Costs an allocation or two, and on the ending thread the handing over of the task to its executor.
  ///
  /// - Throws: `CancellationError`, at once, if the waiting task is cancelled before; the thread is not
  ///   asked for anything by that. A ``ThreadingError`` (`ESRCH`) when there is nothing to wait for:
  ///   the thread was not started, or is one of the parent process's.
  public func waitForEnd() async throws {
    try await waitForEnd(by: "ThreadHandle.waitForEnd")
  }

  /// - Parameter method: what the caller is called in errors.
  /// - Throws: as ``waitForEnd()``.
  package func waitForEnd(by method: String) async throws {
    while true {
      if isLostToFork && state != .finished { throw lostToFork(method) }
      switch state {
      case .finished: return
      case .notStarted:
        throw ThreadingError.refused(
          by: method, code: .noThread, "\(self) has no end to wait for: it was not started")
      case .starting, .running:
        let watcher = EndWatcher()
        let isWatching = await withTaskCancellationHandler {
          await withCheckedContinuation { watcher.wait(with: $0, for: self) }
        } onCancel: {
          watcher.stop()
        }
        if isWatching && state != .finished { throw CancellationError() }
      }
      // The start was refused, or the thread is in its last steps.
      try Task.checkCancellation()
      if state != .finished { await Task.yield() }
    }
  }
}

/// A task that waits for a thread's end.
final class EndWatcher: Sendable {
  // State       | meaning                                     | leaves by
  // 0 new       | the task is about to wait                   | wait() -> waiting, stop() -> done
  // 1 waiting   | `continuation` is there                     | the thread's end or stop() -> done
  // 2 done      | the task goes on                            | never
  private let word = Atomic<UInt32>(0)

  /// How many forks the process of the task is away from the one that was executed.
  private let generation = SystemProcess.forkGeneration

  // SAFETY of nonisolated(unsafe): written before `waiting` is entered, and read by the one who leaves it.
  private nonisolated(unsafe) var continuation: CheckedContinuation<Bool, Never>?

  /// Has the task go on when the thread ends; at once if it does already, or if the task was cancelled.
  func wait(with continuation: CheckedContinuation<Bool, Never>, for thread: ThreadHandle) {
    unsafe self.continuation = continuation
    // releasing: pairs with the acquire in `finish`, for `continuation`.
    guard word.compareExchange(expected: 0, desired: 1, ordering: .releasing).exchanged else {
      continuation.resume(returning: true)
      return
    }
    // After it: a refused start tells the watchers that it finds, see `endStart`.
    if !thread.addEndWatcher(self) || thread.state == .notStarted { finish(false) }
  }

  /// Whether the thread's end need not be told any more.
  var isDone: Bool { word.load(ordering: .relaxed) == 2 }

  /// The task was cancelled.
  func stop() {
    // relaxed: the task has not come to wait yet, and looks at the word before it does.
    if word.compareExchange(expected: 0, desired: 2, ordering: .relaxed).exchanged { return }
    finish(true)
  }

  /// Has the task go on, if nobody has yet. A task of a parent process's is left as it is: the threads that
  /// ran it are not there.
  ///
  /// - Parameter isWatching: false if the thread was too far to be watched.
  func finish(_ isWatching: Bool) {
    guard generation == SystemProcess.forkGeneration else {
      // For ever: what waits in it may not be released without having gone on.
      _ = unsafe Unmanaged.passRetained(self)
      return
    }
    // acquiring: pairs with the release in `wait`.
    if word.compareExchange(expected: 1, desired: 2, ordering: .acquiring).exchanged {
      unsafe continuation?.resume(returning: isWatching)
    }
  }
}
