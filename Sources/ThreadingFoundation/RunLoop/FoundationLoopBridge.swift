public import Foundation
public import ThreadingPlatform

internal import ThreadingLocks

/// Has a thread's ``ThreadRunLoop`` serve what Foundation's `RunLoop` of the same thread has: its
/// timers, streams, ports and blocks.
///
/// ```swift
/// let bridge = try FoundationLoopBridge()
/// Foundation.Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { _ in tick() }
/// ThreadRunLoop.current.run(until: flag)  // serves both
/// ```
///
/// The two loops of a thread know nothing of each other: whichever runs, the other one's things wait.
/// With a bridge, running the toolkit's loop is enough:
///
/// | what | is served while `ThreadRunLoop` runs |
/// |---|---|
/// | blocks, timers and sources of the toolkit | as ever |
/// | the main queue of Dispatch, the main actor, `OperationQueue.main`, completions of `URLSession` on that | on the main thread, with or without a bridge |
/// | a `Timer` that the thread itself added to its `RunLoop` | when it is due |
/// | what else the thread itself gave to its `RunLoop`, such as `perform` | before the loop next sleeps |
/// | what another thread gave to this `RunLoop` | when the loop next wakes, at once with ``perform(_:)`` or ``wakeUp()``, or within ``latency`` |
/// | sockets, streams and ports on the `RunLoop` | within ``latency``: Foundation does not show what it waits for |
///
/// The other way round, a program that runs Foundation's loop serves the toolkit's by calling
/// ``ThreadRunLoop/poll(mode:)`` in a `Timer`; on the main thread nothing wakes it earlier.
///
/// Foundation's timers keep a run going, as the toolkit's do. A pass of Foundation's loop costs a few
/// microseconds and system calls, and is made each time before the toolkit's loop sleeps: a loop on
/// which each microsecond counts should not have a bridge.
///
/// - Note: ``perform(_:)``, ``wakeUp()`` and ``cancel()`` may be called on any thread.
public final class FoundationLoopBridge: Sendable {
  /// The loop that serves Foundation's.
  public let loop: ThreadRunLoop

  /// The mode in which Foundation's loop is served.
  public var mode: RunLoop.Mode { RunLoop.Mode(rawValue: modeName) }

  /// How long it may take until what Foundation does not show is served; nil for until the loop wakes
  /// for another reason.
  public let latency: Duration?

  private let modeName: String
  private let observer: RunLoopObserver
  private let service: Service

  /// Has the loop of the calling thread serve Foundation's loop of the thread, until the bridge is
  /// cancelled or let go of.
  ///
  /// - Parameters:
  ///   - mode: The mode in which Foundation's loop is served.
  ///   - latency: How often to look for what Foundation does not show, at least 1 ms. Looking keeps a
  ///     run going and the processor from resting. nil is not to look.
  /// - Throws: EINVAL for a latency below 1 ms.
  public init(
    mode: RunLoop.Mode = .default, latency: Duration? = nil
  ) throws(ThreadingError) {
    if let latency, latency < .milliseconds(1) {
      throw ThreadingError(
        call: "FoundationLoopBridge.latency", code: CInt(POSIXErrorCode.EINVAL.rawValue),
        message: "a latency of \(latency) is below the minimum of 1 ms")
    }
    loop = .current
    modeName = mode.rawValue
    self.latency = latency
    let service = Service(loop: loop, modeName: mode.rawValue, latency: latency)
    self.service = service
    observer = RunLoopObserver(for: .beforeWaiting) { _, _ in service.serve() }
    try loop.add(observer)
    service.setTimer(at: .now)
  }

  deinit { cancel() }

  /// Has Foundation's loop looked at as soon as the loop runs.
  public func wakeUp() {
    let service = service
    loop.perform { service.serve() }
  }

  /// Has the thread run a block as a block of Foundation's loop, and wakes the thread for it. What the
  /// `RunLoop` has itself when the bridge is cancelled is left there.
  public func perform(_ block: @escaping @Sendable () -> Void) {
    let (modeName, service) = (modeName, service)
    loop.perform {
      RunLoop.current.perform(inModes: [RunLoop.Mode(rawValue: modeName)], block: block)
      service.serve()
    }
  }

  /// Leaves Foundation's loop to itself.
  public func cancel() {
    observer.cancel()
    service.end()
  }
}

/// What a bridge does on the loop's thread.
private final class Service: Sendable {
  private let loop: ThreadRunLoop
  private let modeName: String
  private let latency: Duration?
  private let state = Locked(State())

  private struct State {
    var timer: ThreadTimer?
    var hasEnded = false
  }

  init(loop: ThreadRunLoop, modeName: String, latency: Duration?) {
    self.loop = loop
    self.modeName = modeName
    self.latency = latency
  }

  /// Makes a pass of Foundation's loop, and sees to it that the next one comes in time.
  func serve() {
    guard !state.withLock({ $0.hasEnded }) else { return }
    // Makes a pass without waiting, and tells when the first timer is due: far away if there are only
    // others, nil if there is nothing.
    let limit = RunLoop.current.limitDate(forMode: RunLoop.Mode(rawValue: modeName))
    var next: MonotonicInstant?
    if let limit, limit != .distantFuture {
      next = .now.advanced(by: .seconds(max(0, limit.timeIntervalSinceNow)))
    }
    if let latency { next = min(next ?? .distantFuture, .now.advanced(by: latency)) }
    setTimer(at: next)
  }

  /// Has the loop come back at a moment, nil for not by itself.
  func setTimer(at moment: MonotonicInstant?) {
    let new = moment.flatMap { moment in
      // A tolerance that is not negative: nothing to refuse.
      try? ThreadTimer(at: moment) { [weak self] _ in self?.serve() }
    }
    let (old, isWanted) = state.withLock { state in
      let old = state.timer
      if state.hasEnded {
        state.timer = nil
        return (old, false)
      }
      state.timer = new
      return (old, true)
    }
    old?.cancel()
    if isWanted, let new { try? loop.add(new) }
  }

  func end() {
    state.withLock { $0.hasEnded = true }
    setTimer(at: nil)
  }
}
