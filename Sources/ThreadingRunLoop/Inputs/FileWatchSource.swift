internal import ThreadingLocks
public import ThreadingPlatform

/// Calls a handler on a loop's thread when files or folders have changed.
///
/// ```swift
/// let source = try FileWatchSource { source, events in
///   for event in events where event.kind == .written { reload(event.name) }
/// }
/// try source.watch("/etc/service", for: [.written, .moved])
/// try ThreadRunLoop.current.add(source)
/// ```
///
/// A folder is watched for what happens to its entries, not to the entries of folders in it; a file
/// for what happens to itself. A watch holds on to the file, not to the path: of a file that is
/// replaced by another of its name, as many editors do, the old one is watched until it is deleted.
/// To follow a name, watch its folder.
///
/// What happens between the watching and the adding of the source is not lost. One source watches any
/// number of paths and needs one descriptor.
///
/// - Note: Safe to use from any thread. The handler is called on the loop's thread.
public final class FileWatchSource: InputSource, @unchecked Sendable {
  /// What a path is watched for.
  public struct Changes: OptionSet, Hashable, Sendable {
    /// A bit for each kind of change.
    public let rawValue: UInt32

    /// The changes of the given bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// An entry was made in the folder.
    public static let created = Changes(rawValue: 1 << 0)
    /// Contents were written or cut. Reported for each write; ``written`` is calmer.
    public static let modified = Changes(rawValue: 1 << 1)
    /// A file that was open for writing was closed.
    public static let written = Changes(rawValue: 1 << 2)
    /// Permissions, times, owner, or the number of names have changed.
    public static let attributes = Changes(rawValue: 1 << 3)
    /// The file itself, or an entry of the folder, was deleted. A file that is still open, or has
    /// other names, is not deleted yet.
    public static let deleted = Changes(rawValue: 1 << 4)
    /// The file itself was moved, or an entry into or out of the folder.
    public static let moved = Changes(rawValue: 1 << 5)
    /// All of them.
    public static let all = Changes(rawValue: (1 << 6) - 1)
  }

  /// Something that happened.
  public struct Event: Hashable, Sendable {
    /// What happened.
    public enum Kind: Hashable, Sendable {
      /// An entry was made in the folder.
      case created
      /// Contents were written or cut.
      case modified
      /// A file that was open for writing was closed.
      case written
      /// Permissions, times, owner, or the number of names have changed.
      case attributes
      /// It was deleted.
      case deleted
      /// An entry was moved out of the folder. If it was moved to a folder that the source watches,
      /// too, ``movedHere(link:)`` has the same link.
      case movedAway(link: UInt32)
      /// An entry was moved into the folder.
      case movedHere(link: UInt32)
      /// What is watched was itself moved. It is watched on, under the path that it was given.
      case moved
      /// The path is watched no longer: what was watched is gone, or ``FileWatchSource/unwatch(_:)``
      /// was called. The last event of the path.
      case ended
      /// More happened than the system keeps, and some of it is lost: look at everything anew.
      case overflow
    }

    /// What happened.
    public let kind: Kind
    /// The path, as it was given to ``FileWatchSource/watch(_:for:)``; empty for an overflow.
    public let path: String
    /// The entry of the watched folder; nil for what is watched itself.
    public let name: String?
    /// Whether it happened to a folder.
    public let isFolder: Bool
  }

  /// What a source calls: with itself and what happened since the last call, in order.
  public typealias Handler = @Sendable (FileWatchSource, [Event]) -> Void

  private let system: FileWatch
  // SAFETY: as in InputSource.
  private var handler: Handler?
  /// The paths that are watched.
  private let watches = Locked<[CInt: String]>([:])

  /// A source that watches nothing yet. Needs a descriptor until it is freed.
  ///
  /// - Parameter handler: Called on the loop's thread.
  /// - Throws: ``ThreadingError`` with EMFILE when the process's descriptors or the user's watchers
  ///   have run out, ENFILE, ENOMEM.
  public init(handler: @escaping Handler) throws(ThreadingError) {
    self.handler = handler
    system = try FileWatch()
    super.init()
  }

  /// Watches a path, or watches it for something else from now on.
  ///
  /// Of two paths that lead to one file the later one is reported.
  ///
  /// - Parameters:
  ///   - path: A file or folder; a link is followed.
  ///   - changes: What to watch for, at least one.
  /// - Throws: ``ThreadingError`` with ENOENT, EACCES or ENOTDIR for a path that cannot be watched,
  ///   ENOSPC when the user has too many watches, EINVAL for no changes.
  public func watch(_ path: String, for changes: Changes = .all) throws(ThreadingError) {
    guard !changes.isEmpty else {
      throw .refused(
        by: "FileWatchSource.watch", code: .invalid,
        "\"\(path)\" is to be watched for no change; name at least one")
    }
    // With the lock held, so that the path is known when its first event is looked at.
    try watches.withLock { (watches) throws(ThreadingError) in
      let watch = try system.add(path, for: changes.system)
      watches[watch] = path
    }
  }

  /// Stops watching a path. What happened before is still reported, and then
  /// ``Event/Kind/ended``.
  ///
  /// - Returns: Whether the path was watched.
  @discardableResult
  public func unwatch(_ path: String) -> Bool {
    // Several, if what was watched has been moved and something else is there by now.
    let ended = watches.withLock { watches in watches.filter { $0.value == path }.map(\.key) }
    return ended.count { system.remove($0) } > 0
  }

  /// The paths that are watched.
  public var paths: Set<String> { watches.withLock { Set($0.values) } }

  // MARK: - For the loop

  override var registration: Registration? {
    Registration(descriptor: system.descriptor, events: .readable, trigger: .level)
  }

  override func job(for events: Poller.Events) -> SourceJob? {
    handler.map { .files($0, self) }
  }

  override func takeHandler() -> Any? {
    defer { handler = nil }
    return handler
  }

  /// - Returns: whether the handler was called.
  func serve(_ handler: Handler) -> Bool {
    let events = takeEvents()
    if !events.isEmpty { handler(self, events) }
    return !events.isEmpty
  }

  private func takeEvents() -> [Event] {
    let records = system.takeRecords()
    return watches.withLock { watches in
      var events: [Event] = []
      for record in records {
        let isEnd = record.changes.contains(.ended)
        let path = isEnd ? watches.removeValue(forKey: record.watch) : watches[record.watch]
        for kind in Self.kinds(record) where path != nil || kind == .overflow {
          events.append(
            Event(
              kind: kind, path: path ?? "", name: record.name,
              isFolder: record.changes.contains(.isFolder)))
        }
      }
      return events
    }
  }

  private static func kinds(_ record: FileWatch.Record) -> [Event.Kind] {
    var kinds: [Event.Kind] = []
    let changes = record.changes
    if changes.contains(.created) { kinds.append(.created) }
    if changes.contains(.modified) { kinds.append(.modified) }
    if changes.contains(.attributes) { kinds.append(.attributes) }
    if changes.contains(.written) { kinds.append(.written) }
    if changes.contains(.movedAway) { kinds.append(.movedAway(link: record.cookie)) }
    if changes.contains(.movedHere) { kinds.append(.movedHere(link: record.cookie)) }
    if changes.contains(.movedItself) { kinds.append(.moved) }
    if !changes.isDisjoint(with: [.deleted, .deletedItself]) { kinds.append(.deleted) }
    if changes.contains(.ended) { kinds.append(.ended) }
    if changes.contains(.overflow) { kinds.append(.overflow) }
    return kinds
  }
}

extension FileWatchSource.Changes {
  /// As the system takes them.
  fileprivate var system: FileWatch.Changes {
    var system: FileWatch.Changes = []
    if contains(.created) { system.insert(.created) }
    if contains(.modified) { system.insert(.modified) }
    if contains(.written) { system.insert(.written) }
    if contains(.attributes) { system.insert(.attributes) }
    if contains(.deleted) { system.formUnion([.deleted, .deletedItself]) }
    if contains(.moved) { system.formUnion([.movedAway, .movedHere, .movedItself]) }
    return system
  }
}
