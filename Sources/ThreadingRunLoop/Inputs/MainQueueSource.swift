internal import ThreadingPlatform

/// Serves the main queue of Dispatch, and with it the main actor, on the main thread's loop.
final class MainQueueSource: InputSource, @unchecked Sendable {
  private let descriptor: CInt

  init(descriptor: CInt) {
    self.descriptor = descriptor
    super.init()
  }

  override var registration: Registration? {
    Registration(descriptor: descriptor, events: .readable, trigger: .level)
  }

  override var keepsRunGoing: Bool { false }

  override func job(for events: Poller.Events) -> SourceJob? { .mainQueue }
}

extension ThreadRunLoop {
  /// How the loop of the main thread stands to the main queue of Dispatch.
  enum MainQueueService {
    /// Not looked at yet.
    case unknown
    /// Another thread's loop, or a process without Dispatch.
    case absent
    /// A source of the loop serves it.
    case bySource
    /// No descriptor was left for the source: looked at in each pass, which does not sleep long.
    case byPolling
  }

  /// How long the loop sleeps at most while it cannot be woken for the main queue.
  static var mainQueuePollInterval: Duration { .milliseconds(10) }

  /// Has the main thread's loop serve the main queue, from its first run on.
  func serveMainQueue() {
    switch mainQueueService {
    case .absent, .bySource: return
    case .unknown, .byPolling: break
    }
    guard self === Self.main, threadID == SystemThread.processID,
      let descriptor = MainDispatchQueue.descriptor
    else {
      mainQueueService = .absent
      return
    }
    do {
      _ = try items.add(
        MainQueueSource(descriptor: descriptor), modes: ModeSet.common.bits)
      mainQueueService = .bySource
    } catch {
      mainQueueService = .byPolling
    }
  }
}
