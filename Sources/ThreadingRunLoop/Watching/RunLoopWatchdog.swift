internal import ThreadingLocks
public import ThreadingPlatform
internal import ThreadingThreads

/// Tells when a handler keeps a loop from going on: which one, and for how long.
///
/// ```swift
/// let watchdog = try RunLoopWatchdog(limit: .milliseconds(50)) { stall in
///   let what = stall.label ?? "\(stall.activity)"
///   print("\(what) has held up thread \(stall.loop.threadID) for \(stall.duration)")
/// }
/// watchdog.watch(.main)
/// ```
///
/// It looks at its loops from a thread of its own, twice in the time of the limit. A call that lasts
/// longer is reported while it lasts: once, and again each time it has taken twice as long. While a
/// loop is watched, each of its calls costs two reads of the clock's page and a few stores;
/// otherwise a load.
///
/// - Note: Safe to use from any thread. Reports are made on the watchdog's thread.
public final class RunLoopWatchdog: Sendable {
  /// What a loop was calling.
  public enum Activity: Hashable, Sendable {
    /// A posted block, or the job of an executor.
    case block
    /// A block of ``ThreadRunLoop/performWhenIdle(key:in:_:)``.
    case idleBlock
    /// The closure of a timer.
    case timer
    /// The handler of an observer.
    case observer
    /// The handler of a custom source or a mailbox.
    case signalledSource
    /// The handler of a source that watches files.
    case files
    /// The main queue of Dispatch, or the main actor.
    case mainQueue
    /// The handler of a source that watches this descriptor.
    case descriptor(CInt)
    /// The handler of a source for this signal.
    case signal(CInt)
    /// The handler of a source for this process.
    case process(CInt)
  }

  /// A call that lasts too long.
  public struct Stall: Sendable {
    /// The loop that it holds up.
    public let loop: ThreadRunLoop
    /// What is being called.
    public let activity: Activity
    /// What its user calls it: the ``ThreadTimer/label`` of a timer, and the like of sources and
    /// observers; nil for what has none.
    public let label: String?
    /// How long it has lasted.
    public let duration: Duration
  }

  /// How long a call may last.
  public let limit: Duration

  private let patrol: Patrol
  private let ended = ExitFlag()

  /// Starts a watchdog, which watches no loop yet. It ends when it is let go of.
  ///
  /// - Parameters:
  ///   - limit: How long a call may last, from 1 ms up.
  ///   - report: Called on the watchdog's thread.
  /// - Throws: EINVAL for a limit below 1 ms; EAGAIN when the system is out of threads.
  public init(
    limit: Duration, report: @escaping @Sendable (Stall) -> Void
  ) throws(ThreadingError) {
    guard limit >= .milliseconds(1) else {
      throw .refused(
        by: "RunLoopWatchdog.limit", code: .invalid,
        "a limit of \(limit) is below the minimum of 1 ms")
    }
    self.limit = limit
    let patrol = Patrol(limit: limit, report: report)
    self.patrol = patrol
    let ended = ended
    let round = try ThreadTimer(every: limit / 2) { _ in patrol.look() }
    _ = try SystemThread.start(.init(isDetached: true)) {
      // A name that is short enough, and a new timer on a loop that lives: nothing to refuse.
      try? SystemThread.setCurrentName("loop-watchdog")
      try? ThreadRunLoop.current.add(round)
      ThreadRunLoop.current.run(until: ended)
    }
  }

  deinit {
    ended.set()
    patrol.unwatchAll()
  }

  /// Watches a loop, from its next call on.
  public func watch(_ loop: ThreadRunLoop) { patrol.watch(loop) }

  /// Stops watching a loop.
  public func unwatch(_ loop: ThreadRunLoop) { patrol.unwatch(loop) }
}

/// What the thread of a watchdog does.
private final class Patrol: Sendable {
  private let limit: Duration
  private let report: @Sendable (RunLoopWatchdog.Stall) -> Void
  private let watched = Locked<[Watched]>([])

  /// A loop, and what was last reported of it.
  private struct Watched {
    let loop: ThreadRunLoop
    /// When the call began that `nextReport` is about.
    var since = MonotonicInstant(nanoseconds: .min)
    var nextReport = Duration.zero
  }

  init(limit: Duration, report: @escaping @Sendable (RunLoopWatchdog.Stall) -> Void) {
    self.limit = limit
    self.report = report
  }

  func watch(_ loop: ThreadRunLoop) {
    watched.withLock { watched in
      guard !watched.contains(where: { $0.loop === loop }) else { return }
      watched.append(Watched(loop: loop))
      loop.calls.addWatcher()
    }
  }

  func unwatch(_ loop: ThreadRunLoop) { remove { $0 === loop } }

  func unwatchAll() { remove { _ in true } }

  private func remove(_ isToGo: (ThreadRunLoop) -> Bool) {
    watched.withLock { watched in
      watched.removeAll { entry in
        guard isToGo(entry.loop) else { return false }
        entry.loop.calls.removeWatcher()
        return true
      }
    }
  }

  /// One look at all loops.
  func look() {
    remove { $0.hasEnded }
    let stalls = watched.withLock { watched in
      var stalls: [RunLoopWatchdog.Stall] = []
      for index in watched.indices {
        if let stall = look(at: &watched[index]) { stalls.append(stall) }
      }
      return stalls
    }
    for stall in stalls { report(stall) }
  }

  private func look(at entry: inout Watched) -> RunLoopWatchdog.Stall? {
    guard let call = entry.loop.calls.current() else { return nil }
    if call.since != entry.since {
      entry.since = call.since
      entry.nextReport = limit
    }
    let duration = call.since.duration(to: .now)
    guard duration > entry.nextReport else { return nil }
    entry.nextReport = duration * 2
    return RunLoopWatchdog.Stall(
      loop: entry.loop, activity: call.activity, label: CallLabel.text(call.label),
      duration: duration)
  }
}
