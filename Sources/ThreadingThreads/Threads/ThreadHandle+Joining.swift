internal import Synchronization
internal import ThreadingLocks
package import ThreadingPlatform

/// What waiting for a thread's end has in common in both families.
extension ThreadHandle {
  /// Why a thread cannot be joined.
  package enum JoinRefusal: Sendable {
    case isCurrent
    case closesCycle(String)
    case notStarted
    case isDetached
    case brokenOff
  }

  /// The error of a join that is refused.
  ///
  /// - Parameters:
  ///   - reason: why.
  ///   - family: the name of the thread's class.
  /// - Returns: the error.
  package func refusal(of reason: JoinRefusal, by family: String) -> ThreadingError {
    let (code, text): (ThreadingError.RefusalCode, String) =
      switch reason {
      case .isCurrent: (.deadlock, "it is the calling thread")
      case .closesCycle(let chain): (.deadlock, "it waits for the calling thread: \(chain)")
      case .notStarted: (.noThread, "it was not started")
      case .isDetached: (.invalid, "it is detached")
      case .brokenOff: (.brokenOff, "its body was broken off by pthread_exit or pthread_cancel")
      }
    return .refused(by: "\(family).join", code: code, "\(self) cannot be joined: \(text)")
  }

  /// Waits while the thread is being started, at most until a moment. Afterwards the system's handle
  /// is there.
  ///
  /// - Returns: false when the moment came first.
  /// - Throws: when there is nothing to join: the thread is the calling one or was not started.
  package func waitForStart(
    until deadline: MonotonicInstant, joinBy family: String
  ) throws(ThreadingError) -> Bool {
    if isCurrent { throw refusal(of: .isCurrent, by: family) }
    // One that had ended before the fork has left its answer.
    if isLostToFork && state != .finished { throw lostToFork("\(family).join") }
    switch phase.wait(until: deadline, while: { $0 == .starting }) {
    case .notStarted: throw refusal(of: .notStarted, by: family)
    case .starting: return false
    case .running, .finished: return true
    }
  }

  /// Notes that the calling thread waits for this one without a limit, while `body` runs.
  ///
  /// A ring of such waits would never end; of the threads in it exactly one is refused. Each thread
  /// notes whom it waits for, then counts itself with that thread, then looks whether anybody is counted
  /// with it. Of the threads of a ring, the last to count itself finds somebody, and all notes in place:
  /// it sees the ring. Others may see it too. Whoever does looks again under a lock, and withdraws its
  /// note there if it is refused, so that the next one finds no ring any more.
  ///
  /// A thread for which nobody waits closes no ring and looks at no other thread's note, so a chain of
  /// joins of any length costs each of them the same, if they come in its order or against it.
  ///
  /// A thread that was started in a scope has one more that waits for it, from its start on: the one that
  /// entered the scope. One that joins its own scope's owner is refused at any time. A longer ring, through
  /// threads outside the scope, is found once that one waits for the thread of it to leave the scope, and not
  /// broken by the leaving itself, which cannot be refused.
  ///
  /// - Parameters:
  ///   - family: the name of the thread's class.
  ///   - body: the wait.
  /// - Returns: what `body` returned.
  /// - Throws: when the thread itself waits for the calling one, directly or through others.
  package func withUnlimitedWait<Result>(
    joinBy family: String, _ body: () -> Result
  ) throws(ThreadingError) -> Result {
    let me = ThreadHandle.current
    me.awaited = self
    defer { me.awaited = nil }
    // sequentially consistent, both: each thread of a ring writes its neighbour's count and then reads
    // its own; not all can read what was there before.
    joiners.wrappingAdd(1, ordering: .sequentiallyConsistent)
    // relaxed: a count that is too high costs a look at the notes.
    defer { joiners.wrappingSubtract(1, ordering: .relaxed) }
    let isAwaited =
      unsafe me.joiners.load(ordering: .sequentiallyConsistent) != 0 || me.scopeOwner != nil
    if isAwaited, me.isInRing,
      let chain = me.leaveRing()
    {
      throw refusal(of: .closesCycle(chain), by: family)
    }
    return body()
  }

  /// Notes that the calling thread waits for this one, to leave a scope, while `body` runs.
  func withScopeWait<Result>(_ body: () -> Result) -> Result {
    let me = ThreadHandle.current
    me.awaited = self
    // sequentially consistent, as in `withUnlimitedWait`.
    joiners.wrappingAdd(1, ordering: .sequentiallyConsistent)
    defer {
      joiners.wrappingSubtract(1, ordering: .relaxed)
      me.awaited = nil
    }
    return body()
  }

  /// Whether this thread cannot end before another: it is that one, or waits for it, or for a thread that
  /// waits so, to leave a scope.
  private func outlasts(_ other: ThreadHandle) -> Bool {
    var waiting: ThreadHandle? = other
    while let thread = waiting {
      if thread === self { return true }
      waiting = unsafe thread.scopeOwner
    }
    return false
  }

  /// Whether the notes lead from this thread back to it, or to one that waits for it to leave a scope.
  private var isInRing: Bool {
    var next = awaited
    // A ring that does not lead through here, and is about to be broken by one of its own, is noticed
    // by coming upon the same thread again: on a mark that moves on in ever longer steps.
    var mark = next
    var steps = 0
    var stepsToMark = 1
    while let link = next {
      if link.outlasts(self) { return true }
      next = link.awaited
      if next === mark { return false }
      steps += 1
      if steps == stepsToMark {
        mark = next
        steps = 0
        stepsToMark *= 2
      }
    }
    return false
  }

  /// Held by whoever has seen a ring, while it decides whether to leave it.
  static let ringLock = ForkSafeLock()

  /// Takes this thread's note back if it closes a ring.
  ///
  /// - Returns: the ring for a message; nil if there is none any more.
  private func leaveRing() -> String? {
    Self.ringLock.withLock {
      guard isInRing else { return nil }
      var chain = ""
      var next = awaited
      while let link = next, link !== self {
        chain += chain.isEmpty ? "\(link)" : " waits for \(link)"
        next = link.outlasts(self) ? nil : link.awaited
      }
      awaited = nil
      return chain + " waits for \(self)"
    }
  }

  /// Waits for the thread's end, at most until a moment.
  ///
  /// - Returns: false when the moment came first.
  package func waitForEnd(until deadline: MonotonicInstant) -> Bool {
    phase.wait(until: deadline, while: { $0 != .finished }) == .finished
  }

  /// Enters `starting`, or stops the program if the thread was started before.
  ///
  /// - Parameter family: the name of the thread's class.
  package func beginStart(of family: String) {
    guard phase.move(from: .notStarted, to: .starting) else {
      fatalError("\(family).start: \(self) was started before; it is \(state)")
    }
    noteStarter()
    collectInheritance()
    noteBirth()
  }

  /// Leaves `starting`: for `running` if the system has made the thread, else back.
  package func endStart(succeeded: Bool) {
    if !succeeded { dropInheritance() }
    phase.move(from: .starting, to: succeeded ? .running : .notStarted)
    if !succeeded { for watcher in takeEndWatchers() { watcher.finish(false) } }
  }
}
