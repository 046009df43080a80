internal import ThreadingLocks
public import ThreadingPlatform

extension ThreadRunLoop {
  /// A loop that always runs, on a thread of its own that the process shares: for timers and sources
  /// of threads that do not run their loops, such as those of a pool.
  ///
  /// A timer that is put on ``current`` there is never fired: a thread that does not run its loop
  /// serves nothing, and what is on the loop goes with the thread. ``Counters/passes`` of such a loop
  /// stays 0.
  ///
  /// What runs on the service loop should be short, and wait for nothing: everybody's timers are behind
  /// it. Its thread is started by the first call, runs on when it is stopped, and does not keep the
  /// process open. Should somebody cancel the thread, the next call starts another one, and so does the
  /// first call in a child process made by `fork`.
  ///
  /// - Throws: EAGAIN when the system is out of threads.
  /// - Note: Safe to call from any thread.
  public static func service() throws(ThreadingError) -> ThreadRunLoop {
    let process = SystemThread.processID
    return try serviceLoop.withLock { (known) throws(ThreadingError) in
      if let known, known.process == process, !known.loop.hasEnded { return known.loop }
      let answer = OneShot<ThreadRunLoop>()
      _ = try SystemThread.start(.init(isDetached: true)) {
        // A name that is short enough: nothing to refuse.
        try? SystemThread.setCurrentName("service-loop")
        answer.give(.current)
        while ThreadRunLoop.current.run(until: ExitFlag()) != .cancelled {}
      }
      guard case .value(let loop) = answer.wait() else {
        fatalError("ThreadRunLoop.service: the thread of the service loop gave no answer")
      }
      known = (process, loop)
      return loop
    }
  }

  private static let serviceLoop = Locked<(process: UInt32, loop: ThreadRunLoop)?>(nil)
}
