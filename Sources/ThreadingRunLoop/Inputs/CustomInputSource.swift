internal import ThreadingLocks
public import ThreadingPlatform

/// An input of one's own for run loops: signalled from any thread, it has its handler called on the
/// thread of each loop that it is on.
///
/// ```swift
/// let source = CustomInputSource { source in process(commands.takeAll()) }
/// try workerLoop.add(source)
/// // on any thread:
/// commands.append(command)
/// source.signal()
/// ```
///
/// Signals are merged: however often it was signalled since the last call began, the next pass of
/// each loop calls the handler once. Signalling wakes the loop; there is nothing else to call.
///
/// - Note: Safe to use from any thread. What was written before ``signal()`` happens before the call
///   of the handler.
public final class CustomInputSource: SignalledSource, Sendable {
  /// What is called, with the source itself.
  public typealias Handler = @Sendable (CustomInputSource) -> Void

  /// What is called when the source comes onto a loop or is taken off one.
  public typealias LoopHandler = @Sendable (CustomInputSource, ThreadRunLoop) -> Void

  private let schedule: LoopHandler?
  private let cancelled: LoopHandler?
  private let perform: Handler
  /// One entry for each loop.
  private let entries = Locked<[CustomSourceEntry]>([])
  private let callLabel = CallLabel()

  /// What a ``RunLoopWatchdog`` calls it; nil for no name. May be changed at any time.
  ///
  /// The process keeps each text that was ever given, once: a few fixed names are meant, not new ones
  /// again and again.
  public var label: String? {
    get { callLabel.text }
    set { callLabel.text = newValue }
  }

  var callLabelNumber: UInt32 { callLabel.number }

  /// A source that is on no loop yet.
  ///
  /// - Parameters:
  ///   - schedule: Called when the source has been added to a loop, on the thread that added it: the
  ///     place to tell clients of it.
  ///   - cancel: Called once for each loop when the source has been taken off it, on the thread that
  ///     did so; on the loop's thread if that has ended.
  ///   - perform: Called on the loop's thread after a signal.
  public init(
    schedule: LoopHandler? = nil, cancel: LoopHandler? = nil, perform: @escaping Handler
  ) {
    self.schedule = schedule
    self.cancelled = cancel
    self.perform = perform
  }

  /// The loops that the source is on.
  public var loops: [ThreadRunLoop] { entries.withLock { $0.map(\.loop) } }

  /// Has each loop that the source is on call the handler once, as soon as it runs in one of the
  /// modes. Without a loop it does nothing.
  public func signal() {
    for entry in entries.withLock({ $0 }) { entry.owner.items?.signal(entry) }
  }

  /// Has one of the loops that the source is on call the handler once.
  ///
  /// - Returns: Whether the source is on that loop.
  @discardableResult
  public func signal(_ loop: ThreadRunLoop) -> Bool {
    guard let entry = entry(on: loop) else { return false }
    loop.items.signal(entry)
    return true
  }

  /// Takes the source off all loops. It may be added again.
  public func cancel() {
    for entry in entries.withLock({ $0 }) { entry.cancel() }
  }

  /// Takes the source off a loop.
  ///
  /// After the call no handler begins there. One that has begun may still be going on.
  ///
  /// - Returns: Whether this call took it off.
  @discardableResult
  public func cancel(on loop: ThreadRunLoop) -> Bool {
    entry(on: loop)?.cancel() ?? false
  }

  // MARK: -

  private func entry(on loop: ThreadRunLoop) -> CustomSourceEntry? {
    entries.withLock { entries in entries.first { $0.loop === loop } }
  }

  func serve() { perform(self) }

  func add(to loop: ThreadRunLoop, modes: UInt64) throws(ThreadingError) {
    let entry = CustomSourceEntry(self, loop)
    let isNew = entries.withLock { entries in
      let isNew = !entries.contains { $0.loop === loop }
      if isNew { entries.append(entry) }
      return isNew
    }
    guard isNew else { throw .alreadyOnLoop }
    do {
      _ = try loop.items.add(entry, modes: modes)
    } catch {
      forget(entry)
      throw error
    }
    schedule?(self, loop)
  }

  fileprivate func entryEnded(_ entry: CustomSourceEntry, _ loop: ThreadRunLoop) {
    forget(entry)
    cancelled?(self, loop)
  }

  private func forget(_ entry: CustomSourceEntry) {
    entries.withLock { entries in entries.removeAll { $0 === entry } }
  }
}

/// A custom source as one loop sees it. The loop holds the entry until it is taken off, the entry
/// the source.
private final class CustomSourceEntry: InputSource, @unchecked Sendable {
  // SAFETY: as in InputSource.
  let source: CustomInputSource
  let loop: ThreadRunLoop

  init(_ source: CustomInputSource, _ loop: ThreadRunLoop) {
    self.source = source
    self.loop = loop
    super.init()
  }

  override func job(for events: Poller.Events) -> SourceJob? {
    .signalled(source)
  }

  override func wasTakenOff() { source.entryEnded(self, loop) }
}

extension ThreadRunLoop {
  /// Adds a custom source, to be served while the loop runs in one of the modes.
  ///
  /// - Throws: EEXIST when the source is on this loop already; ESRCH when the loop's thread has
  ///   ended.
  /// - Note: Safe to call from any thread.
  public func add(
    _ source: CustomInputSource, in modes: ModeSet = .common
  ) throws(ThreadingError) {
    require(
      !modes.isEmpty, "ThreadRunLoop.add: the set of modes is empty; the source would do nothing")
    try source.add(to: self, modes: modes.bits)
    notifyFromOutside()
  }
}
