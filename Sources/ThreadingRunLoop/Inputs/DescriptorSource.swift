internal import Synchronization
internal import ThreadingPlatform

/// Calls a handler on a loop's thread when a descriptor can be read or written, was hung up on, or
/// has an error.
///
/// ```swift
/// let source = DescriptorSource(socket, for: .readable) { source, events in
///   guard readSome(from: source.descriptor) else { source.cancel(); return }
/// }
/// try ThreadRunLoop.current.add(source)
/// ```
///
/// The descriptor stays the caller's: cancel the source, then close it. One that is closed first
/// is reported once, with ``Events/closed``, and taken off the loop. The system does not tell of a
/// close, so that is noticed when the loop next prepares to sleep after having had something to do;
/// a loop that sleeps on undisturbed does not notice.
///
/// A loop watches a descriptor for one source only; a second one is refused. A socket that is read and
/// written has one source for both, whose ``events`` are changed as there is something to write:
///
/// ```swift
/// let source = DescriptorSource(socket, for: .readable) { source, events in
///   if events.contains(.readable) { read() }
///   if events.contains(.writable) {
///     output.withLock { if writeSome(of: &$0) == .all { source.events = .readable } }
///   }
/// }
/// // when there is something to write, on any thread:
/// output.withLock {
///   $0.append(data)
///   source.events = [.readable, .writable]
/// }
/// ```
///
/// (Under the lock of the data in both places: else the handler could take back what was just asked for.)
public final class DescriptorSource: InputSource, @unchecked Sendable {
  /// What can happen to a descriptor.
  public struct Events: OptionSet, Hashable, Sendable {
    /// A bit for each event.
    public let rawValue: UInt32

    /// The events of the given bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// It can be read without blocking; so can the end of what it delivers, and a listening socket
    /// that has a connection.
    public static let readable = Events(rawValue: Poller.Events.readable.rawValue)
    /// It can be written without blocking.
    public static let writable = Events(rawValue: Poller.Events.writable.rawValue)
    /// The other side has closed, in whole or for writing. Reported whether asked for or not.
    public static let hangUp = Events(rawValue: Poller.Events.hangUp.rawValue)
    /// An error is pending. Reported whether asked for or not.
    public static let error = Events(rawValue: Poller.Events.error.rawValue)
    /// It was closed while the source was on its loop. Reported whether asked for or not, as the
    /// last event; the source has been cancelled.
    public static let closed = Events(rawValue: Poller.Events.closed.rawValue)
  }

  /// How often a readiness that lasts is reported.
  public enum Trigger: Hashable, Sendable {
    /// In each pass of the loop while the descriptor is ready. A hang-up or error that leaves
    /// nothing to read or write is reported once all the same.
    case level
    /// Once for each change from not ready to ready: the handler reads or writes until the
    /// descriptor would block.
    case edge
  }

  /// What a source calls: with itself and what has happened.
  public typealias Handler = @Sendable (DescriptorSource, Events) -> Void

  /// The descriptor that is watched.
  public let descriptor: CInt

  /// What is asked for: ``Events/readable``, ``Events/writable``, both, or none for hang-ups and
  /// errors. Others that are given are left out.
  ///
  /// May be changed at any time, in the handler too. After the change no handler is called for what is
  /// no longer asked for; one that has begun may still be going on. The descriptor is looked at anew: a
  /// readiness that lasts is reported then also if it was before, edge-triggered or not, and so is a
  /// hang-up.
  ///
  /// - Complexity: A change costs a system call while the descriptor is watched.
  /// - Note: Safe to use from any thread. Of two threads that change it at once, the later one counts.
  public var events: Events {
    // Sequentially consistent, here and in SourceTable.add by way of `registration`: either the one that
    // adds the source sees the change after it has claimed the source, or the look at the owner below
    // sees the claim.
    get { Events(rawValue: eventBits.load(ordering: .sequentiallyConsistent)) }
    set {
      let asked = newValue.intersection([.readable, .writable])
      eventBits.store(asked.rawValue, ordering: .sequentiallyConsistent)
      owner.items?.changeEvents(self)
    }
  }

  /// How often a readiness that lasts is reported.
  public let trigger: Trigger

  private let eventBits: Atomic<UInt32>
  // SAFETY: as in InputSource.
  private var handler: Handler?

  /// A source for a descriptor, which should be non-blocking.
  ///
  /// - Parameters:
  ///   - descriptor: A pipe, socket, terminal, eventfd or whatever else `epoll(7)` can watch.
  ///   - events: ``Events/readable``, ``Events/writable``, both, or none for hang-ups and errors.
  ///   - trigger: How often a readiness that lasts is reported.
  ///   - handler: Called on the loop's thread.
  public init(
    _ descriptor: CInt, for events: Events, trigger: Trigger = .level, handler: @escaping Handler
  ) {
    self.descriptor = descriptor
    eventBits = Atomic(events.intersection([.readable, .writable]).rawValue)
    self.trigger = trigger
    self.handler = handler
    super.init()
  }

  // MARK: - For the loop

  override var registration: Registration? {
    Registration(
      descriptor: descriptor, events: Poller.Events(rawValue: events.rawValue),
      trigger: trigger == .edge ? .edge : .level)
  }

  override func job(for events: Poller.Events) -> SourceJob? {
    guard let handler else { return nil }
    return .descriptor(handler, self, Events(rawValue: events.rawValue))
  }

  override func takeHandler() -> Any? {
    let taken = handler
    handler = nil
    return taken
  }
}
