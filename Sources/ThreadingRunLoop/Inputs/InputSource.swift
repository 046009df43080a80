internal import ThreadingPlatform

/// Something that a run loop waits for and serves: the common part of ``DescriptorSource``,
/// ``SignalSource`` and their kin.
///
/// A source belongs to the one loop that it was added to, which holds it until it is cancelled or
/// the loop's thread has ended. Its handler is released then, even if the source itself is still
/// held.
///
/// - Note: Safe to use from any thread. Handlers are called on the loop's thread.
public class InputSource: @unchecked Sendable {
  let owner = ItemOwner()

  // SAFETY of @unchecked, here and in the subclasses: the variables are guarded by the lock of the
  // owner's items. Before there is an owner they are only touched by init, and by the one cancel()
  // that moves `owner` on.

  /// The source's place in the table of its loop; -1 when it is in none.
  var slot = -1
  /// The modes that it was added for.
  var modes: UInt64 = 0
  var isPaused = false
  /// Whether a source that is served without a descriptor is to be.
  var isSignalled = false

  let callLabel = CallLabel()

  /// What a ``RunLoopWatchdog`` calls it; nil for no name. May be changed at any time.
  ///
  /// The process keeps each text that was ever given, once: a few fixed names are meant, not new ones
  /// again and again.
  public final var label: String? {
    get { callLabel.text }
    set { callLabel.text = newValue }
  }

  init() {}

  /// Whether the source is on a loop.
  public final var isScheduled: Bool {
    guard let items = owner.items else { return false }
    return items.withLock { _ in slot >= 0 }
  }

  /// Takes the source off its loop for good, and releases its handler.
  ///
  /// After the call no handler begins. One that has begun on the loop's thread may still be going
  /// on; called from the handler itself, that one is the last.
  ///
  /// Cancel a source before its descriptor is closed.
  ///
  /// - Returns: Whether this call took it off.
  @discardableResult
  public final func cancel() -> Bool {
    switch owner.cancel() {
    case .wasFree:
      _ = takeHandler()
      return true
    case .wasCancelled: return false
    case .isOwned(let items): return items.cancel(self)
    }
  }

  /// Keeps the source from being served until ``resume()``. It still is something to wait for.
  ///
  /// After the call no handler begins. One that has begun on the loop's thread may still be going on;
  /// called from the handler itself, that one is the last before the pause, also of several messages,
  /// lines or events that have come together.
  ///
  /// For a handler that cannot do its work now, such as accepting a connection when descriptors
  /// have run out. Does nothing if the source is paused already, or on no loop.
  public final func pause() { owner.items?.pause(self) }

  /// Ends a pause. What became ready meanwhile is served.
  ///
  /// Does nothing if the source is not paused, or on no loop.
  public final func resume() { owner.items?.resume(self) }

  // MARK: - For the loop, with the lock of the items held

  /// What the poller is to watch; nil for a source that is signalled by other means. Nothing but the
  /// events ever changes. May be asked for without the lock.
  var registration: Registration? { nil }

  struct Registration {
    let descriptor: CInt
    let events: Poller.Events
    let trigger: Poller.Trigger
  }

  /// Whether a run waits for the source, or ends when nothing else is there. Never changes.
  var keepsRunGoing: Bool { true }

  /// Whether the source has something to be served when it comes onto its loop.
  var isReadyWhenAdded: Bool { false }

  /// What is to be called, without the lock, for what has happened.
  func job(for events: Poller.Events) -> SourceJob? { nil }

  /// Takes the handler out, for release without the lock.
  func takeHandler() -> Any? { nil }

  /// The source was paused, or its pause has ended: `isPaused` tells.
  func pauseChanged() {}

  // MARK: - For the loop, without the lock

  /// The source has been taken off its loop; called once.
  func wasTakenOff() {}
}

/// A call of a source's handler.
enum SourceJob {
  case descriptor(DescriptorSource.Handler, DescriptorSource, DescriptorSource.Events)
  case signal(SignalSource.Handler, SignalSource, SignalSubscription)
  case process(ProcessSource.Handler, ProcessSource)
  case line(LineSource.Handler, LineSource, LineSource.Event)
  case lines(LineSource)
  case files(FileWatchSource.Handler, FileWatchSource)
  case messages(MessageSource)
  case messageFailed(MessageSource.Handler, MessageSource, ThreadingError)
  case room(@Sendable () -> Void, InputSource)
  case mainQueue
  case signalled(any SignalledSource)

  /// The number of what its user calls the source; 0 for nothing.
  var labelNumber: UInt32 {
    switch self {
    case .descriptor(_, let source, _): source.callLabel.number
    case .lines(let source), .line(_, let source, _): source.callLabel.number
    case .files(_, let source): source.callLabel.number
    case .messages(let source), .messageFailed(_, let source, _): source.callLabel.number
    case .room(_, let source): source.callLabel.number
    case .signal(_, let source, _): source.callLabel.number
    case .process(_, let source): source.callLabel.number
    case .signalled(let source): source.callLabelNumber
    case .mainQueue: 0
    }
  }

  /// What a watchdog calls it.
  var activity: RunLoopWatchdog.Activity {
    switch self {
    case .descriptor(_, let source, _): .descriptor(source.descriptor)
    case .lines(let source), .line(_, let source, _): .descriptor(source.descriptor)
    case .files: .files
    case .messages(let source), .messageFailed(_, let source, _): .descriptor(source.descriptor)
    case .room(_, let source): .descriptor(source.registration?.descriptor ?? -1)
    case .signal(_, let source, _): .signal(source.signal)
    case .process(_, let source): .process(source.processID)
    case .signalled: .signalledSource
    case .mainQueue: .mainQueue
    }
  }

  /// Calls the handler and releases it.
  ///
  /// - Returns: false when it turned out that there was nothing to call.
  @inline(never)
  consuming func run() -> Bool {
    switch self {
    case .descriptor(let handler, let source, let events): handler(source, events)
    case .signal(let handler, let source, let subscription):
      let count = subscription.takeCount()
      guard count > 0 else { return false }
      handler(source, count)
    case .process(let handler, let source): return source.serve(handler)
    case .line(let handler, let source, let event): handler(source, event)
    case .lines(let source): source.serveReadable()
    case .files(let handler, let source): return source.serve(handler)
    case .messages(let source): source.serve()
    case .messageFailed(let handler, let source, let error): handler(source, .failed(error))
    // Once: whoever cancels first.
    case .room(let handler, let source):
      guard source.cancel() else { return false }
      handler()
    case .mainQueue: MainDispatchQueue.drain()
    case .signalled(let source): source.serve()
    }
    return true
  }
}

/// What is served because it was signalled, not because a descriptor is ready.
protocol SignalledSource: AnyObject, Sendable {
  /// The number of what its user calls it; 0 for nothing.
  var callLabelNumber: UInt32 { get }

  func serve()

  /// A run is begun inside the handler that `serve` is calling. Called for sources that are on the list
  /// of those that the loop is serving.
  func runBegins()
}

extension SignalledSource where Self: InputSource {
  var callLabelNumber: UInt32 { callLabel.number }
}

extension SignalledSource {
  func runBegins() {}
}
