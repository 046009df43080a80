public import ThreadingPlatform

/// Calls a handler on a loop's thread when a process has ended, with how it ended.
///
/// ```swift
/// let source = try ProcessSource(childID) { _, ending in
///   if ending != .exited(code: 0) { report(ending) }
/// }
/// try ThreadRunLoop.current.add(source)
/// ```
///
/// The handler is called once; the source has been taken off its loop then. A process that had ended
/// before the source was added is reported all the same, as long as nobody has asked for its end.
public final class ProcessSource: InputSource, @unchecked Sendable {
  /// How a process ended.
  public enum Ending: Hashable, Sendable {
    /// It returned from its main function, or called `exit`.
    case exited(code: CInt)
    /// A signal ended it.
    case killed(signal: CInt, dumpedCore: Bool)
    /// The system does not say: it was no child of this process, or its end was asked for by
    /// somebody else.
    case unknown
  }

  /// What a source calls: with itself and how the process ended.
  public typealias Handler = @Sendable (ProcessSource, Ending) -> Void

  /// The process that is watched.
  public let processID: CInt

  private let reaps: Bool
  private let watch: ProcessWatch
  // SAFETY: as in InputSource.
  private var handler: Handler?

  /// A source for a process. Needs a descriptor from now until it is freed.
  ///
  /// - Parameters:
  ///   - processID: A child of this process, or any other process.
  ///   - reaps: Whether asking how a child ended lets the system forget it, as `waitpid` does. Pass
  ///     false if somebody else is to wait for it.
  ///   - handler: Called on the loop's thread.
  /// - Throws: ``ThreadingError`` with ESRCH or EINVAL when there is no such process, EMFILE or
  ///   ENFILE when descriptors have run out, ENOSYS before Linux 5.3.
  public init(
    _ processID: CInt, reaps: Bool = true, handler: @escaping Handler
  ) throws(ThreadingError) {
    self.processID = processID
    self.reaps = reaps
    self.handler = handler
    watch = try ProcessWatch(processID: processID)
    super.init()
  }

  // MARK: - For the loop

  override var registration: Registration? {
    Registration(descriptor: watch.descriptor, events: .readable, trigger: .level)
  }

  override func job(for events: Poller.Events) -> SourceJob? {
    handler.map { .process($0, self) }
  }

  override func takeHandler() -> Any? {
    defer { handler = nil }
    return handler
  }

  /// - Returns: whether the handler was called.
  func serve(_ handler: Handler) -> Bool {
    guard let ending = watch.ending(reaps: false) else { return false }
    // Whoever cancels first: after a cancel by another thread the handler does not begin, and the child
    // is left to somebody else.
    guard cancel() else { return false }
    if reaps { _ = watch.ending(reaps: true) }
    switch ending {
    case .exited(let code): handler(self, .exited(code: code))
    case .killed(let signal, let dumpedCore):
      handler(self, .killed(signal: signal, dumpedCore: dumpedCore))
    case .unknown: handler(self, .unknown)
    }
    return true
  }
}
