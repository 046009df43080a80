internal import Synchronization
internal import ThreadingLocks

extension ThreadOperation {
  /// Calls `body` with the state that the operation is in, and then with each one that it comes to, each once, in
  /// order: at last, and in any case, with ``State/finished``.
  ///
  /// `body` is called by the thread that makes the step, never by two at once: the one that adds the operation
  /// or finishes its last dependency tells `ready`, the one that runs it `executing` before ``main()`` and
  /// `finished` among the completion blocks. If a call takes long, the states that come meanwhile are told after
  /// it, by the same thread. A state that was left before it could be told is told all the same, but for those
  /// that came before the first call. An operation that turns from `ready` back to `pending`, because a dependency
  /// was added late, is told of as ready once.
  ///
  /// `body` is released after the call with `finished`, or with the operation.
  ///
  /// - Parameter body: what to call; it is handed the operation, so it need not capture it.
  public final func onStateChange(_ body: @escaping @Sendable (ThreadOperation, State) -> Void) {
    let watcher = StateWatcher(body)
    lock.lock()
    let seen = update { word in
      guard !word.has(OperationWord.isClosed) else { return false }
      word.bits |= OperationWord.isWatched
      return true
    }
    if seen != nil { makeExtras().watchers.append(watcher) }
    lock.unlock()
    // Not earlier: who comes to a state from here on finds the watcher, and tells it.
    watcher.begin(self)
    // A completion block is called in any case, at once if the end has been.
    addCompletion { operation in
      watcher.tell(operation, upTo: .finished)
      operation.lock.withLock { operation.extras?.watchers.removeAll { $0 === watcher } }
    }
  }

  /// The state that the operation is in, and then each one that it comes to, each once, up to
  /// ``State/finished``; see ``onStateChange(_:)``. Each use begins anew.
  ///
  /// ```swift
  /// for await state in operation.states { print(state) }
  /// ```
  public final var states: AsyncStream<State> {
    AsyncStream { continuation in
      onStateChange { _, state in
        continuation.yield(state)
        if state == .finished { continuation.finish() }
      }
    }
  }

  /// Tells the watchers of the state that the operation is in.
  final func tellWatchers() {
    let watchers = lock.withLock { extras?.watchers ?? [] }
    let now = state
    for watcher in watchers { watcher.tell(self, upTo: now) }
  }
}

/// Who is told of the states of one operation.
final class StateWatcher: Sendable {
  private let body: @Sendable (ThreadOperation, ThreadOperation.State) -> Void
  private let course = Locked(Course())

  private struct Course {
    /// The next state to tell; nil before the first call.
    var next: Int?
    /// The latest state that is known to have been come to.
    var reached = 0
    var isTelling = false
  }

  private static let order: [ThreadOperation.State] = [.pending, .ready, .executing, .finished]

  init(_ body: @escaping @Sendable (ThreadOperation, ThreadOperation.State) -> Void) {
    self.body = body
  }

  /// Tells the state that the operation is in, which is the first.
  func begin(_ operation: ThreadOperation) {
    let now = Self.index(of: operation.state)
    course.withLock { course in
      if course.next == nil { course.next = now }
      course.reached = max(course.reached, now)
    }
    goOn(operation)
  }

  func tell(_ operation: ThreadOperation, upTo state: ThreadOperation.State) {
    let index = Self.index(of: state)
    course.withLock { course in
      if course.next == nil { course.next = index }
      course.reached = max(course.reached, index)
    }
    goOn(operation)
  }

  /// Tells what has not been told, unless another thread is at it, which then does that too.
  private func goOn(_ operation: ThreadOperation) {
    var isMine = false
    while true {
      let state: ThreadOperation.State? = course.withLock { course in
        guard isMine || !course.isTelling else { return nil }
        guard let next = course.next, next <= course.reached else {
          course.isTelling = false
          return nil
        }
        course.isTelling = true
        course.next = next + 1
        return Self.order[next]
      }
      guard let state else { return }
      isMine = true
      // One that is skipped never executes.
      if state == .executing, operation.wasSkipped { continue }
      body(operation, state)
    }
  }

  private static func index(of state: ThreadOperation.State) -> Int {
    switch state {
    case .pending: 0
    case .ready: 1
    case .executing: 2
    case .finished: 3
    }
  }
}

extension ThreadOperation {
  fileprivate final var wasSkipped: Bool { load().has(OperationWord.wasSkipped) }
}
