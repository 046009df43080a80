public import ThreadingPlatform

/// Calls a handler on a loop's thread when a signal was delivered to the process: ordinary code,
/// free of the limits of a signal handler.
///
/// ```swift
/// let interrupts = try SignalSource(SIGINT) { _, count in finish() }
/// try ThreadRunLoop.main.add(interrupts)
/// ```
///
/// From the making of a source until it is cancelled or freed, on a loop or not, the signal has no
/// other effect: Ctrl-C does not end the process. When the last one is gone, what was in force
/// before is so again. Deliveries between making a source and adding it are not lost.
///
/// The system gives a signal that was sent to the process to any thread that does not block it. If all
/// threads block it, it waits. Threads of Dispatch block most signals, and so does every thread, and
/// every child process, that is started from one of them, unless it is given another signal mask;
/// the main thread of a program blocks none. ``isBlockedEverywhere`` tells whether nothing can come, and
/// ``unblockOnCurrentThread()`` has a thread take the signal, such as that of the loop.
///
/// Any number of sources may watch one signal, each with its own count. A child made by `fork`
/// reports to none of them.
public final class SignalSource: InputSource, @unchecked Sendable {
  /// What a source calls: with itself and how many deliveries there were since the last call.
  ///
  /// The system merges deliveries of a signal that has not been taken yet, so the number may be
  /// less than that of the senders' calls. It is at least 1.
  public typealias Handler = @Sendable (SignalSource, _ count: Int) -> Void

  /// The number of the signal.
  public let signal: CInt

  private let subscription: SignalSubscription
  // SAFETY: as in InputSource.
  private var handler: Handler?

  /// A source for a signal, which takes it over at once. Needs a descriptor.
  ///
  /// - Parameters:
  ///   - signal: Its number, such as `SIGINT`.
  ///   - handler: Called on the loop's thread.
  /// - Throws: ``ThreadingError`` with EINVAL for a number that is no signal, or a signal that
  ///   cannot be waited for: SIGKILL, SIGSTOP, and those that report a fault of the running code,
  ///   as SIGSEGV does; EMFILE or ENFILE when descriptors have run out.
  public init(_ signal: CInt, handler: @escaping Handler) throws(ThreadingError) {
    self.signal = signal
    self.handler = handler
    subscription = try SignalSubscription(signal: signal)
    super.init()
  }

  /// Whether at this moment each thread of the process blocks the signal, so that it waits until one
  /// takes it.
  ///
  /// Blocking is each thread's own affair and may change at any time: the answer is for finding out why
  /// nothing comes. False where there is no `proc` file system, which tells, or no descriptor to read it.
  ///
  /// - Complexity: A few system calls for each thread, up to the first that takes the signal.
  public var isBlockedEverywhere: Bool {
    guard let threads = try? SystemTask.identifiers(), !threads.isEmpty else { return false }
    do throws(ThreadingError) {
      for thread in threads {
        if try SystemTask.blockedSignals(of: thread)?.contains(signal) == false { return false }
      }
    } catch {
      return false
    }
    return true
  }

  /// Has the calling thread take the signal, if it was blocking it: what waits comes at once.
  ///
  /// ```swift
  /// loop.perform { source.unblockOnCurrentThread() }
  /// ```
  ///
  /// A thread begins with the mask of the one that starts it, so a thread that Dispatch has started, and
  /// whatever is started from there, blocks most signals until it does this.
  public func unblockOnCurrentThread() { SystemThread.unblock(signal) }

  // MARK: - For the loop

  override var registration: Registration? {
    Registration(descriptor: subscription.descriptor, events: .readable, trigger: .level)
  }

  override func job(for events: Poller.Events) -> SourceJob? {
    guard let handler else { return nil }
    return .signal(handler, self, subscription)
  }

  override func takeHandler() -> Any? {
    let taken = handler
    handler = nil
    subscription.end()
    return taken
  }
}
