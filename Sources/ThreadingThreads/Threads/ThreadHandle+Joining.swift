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
    switch phase.wait(until: deadline, while: { $0 == .starting }) {
    case .notStarted: throw refusal(of: .notStarted, by: family)
    case .starting: return false
    case .running, .finished: return true
    }
  }

  /// Notes that the calling thread waits for this one without a limit, while `body` runs.
  ///
  /// Each thread notes what it waits for before it follows the notes of others, each note under the lock
  /// of its handle: of the threads that would close a cycle, the last to note sees all the others. Two
  /// that note at once may both see the cycle, and are then both refused.
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
    var chain = "\(self)"
    var next = awaited
    // A thread that waits for one of a cycle without being of it could be led around for ever.
    var steps = 0
    while let link = next, steps < 10_000 {
      chain += " waits for \(link)"
      if link === me { throw refusal(of: .closesCycle(chain), by: family) }
      next = link.awaited
      steps += 1
    }
    return body()
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
  }

  /// Leaves `starting`: for `running` if the system has made the thread, else back.
  package func endStart(succeeded: Bool) {
    phase.move(from: .starting, to: succeeded ? .running : .notStarted)
  }
}
