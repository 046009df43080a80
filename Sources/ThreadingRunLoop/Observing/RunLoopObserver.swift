public import ThreadingPlatform

/// Is told when a loop comes to certain points of its passes.
///
/// ```swift
/// let observer = RunLoopObserver(for: [.beforeWaiting, .afterWaiting]) { _, activity in
///   trace(activity)
/// }
/// try ThreadRunLoop.current.add(observer)
/// ```
///
/// Observers do not keep a run going. One belongs to the one loop that it was added to.
///
/// - Note: Safe to use from any thread. Handlers are called on the loop's thread.
public final class RunLoopObserver: @unchecked Sendable {
  /// Points of a pass. ``ThreadRunLoop`` has the table of their order.
  public struct Activity: OptionSet, Hashable, Sendable {
    /// A bit for each point.
    public let rawValue: UInt32

    /// The points of the given bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A run begins.
    public static let entry = Activity(rawValue: 1 << 0)
    /// A pass begins; timers that are due will fire in it.
    public static let beforeTimers = Activity(rawValue: 1 << 1)
    /// Posted blocks and sources are about to be served.
    public static let beforeSources = Activity(rawValue: 1 << 2)
    /// The loop is about to sleep, unless the observers give it something to do.
    public static let beforeWaiting = Activity(rawValue: 1 << 3)
    /// The loop is awake again, or was kept awake: follows each ``beforeWaiting``.
    public static let afterWaiting = Activity(rawValue: 1 << 4)
    /// The run ends.
    public static let exit = Activity(rawValue: 1 << 5)
    /// All points.
    public static let all = Activity(rawValue: (1 << 6) - 1)
  }

  /// What an observer calls: with itself and the one point that the loop has come to.
  public typealias Handler = @Sendable (RunLoopObserver, Activity) -> Void

  /// The points that the observer is told of.
  public let activities: Activity

  /// Whether it is told again and again, or once.
  public let repeats: Bool

  /// Observers of one point are told by rising order, those of one order as they were added.
  public let order: Int

  fileprivate let callLabel = CallLabel()

  /// What a ``RunLoopWatchdog`` calls it; nil for no name. May be changed at any time.
  ///
  /// The process keeps each text that was ever given, once: a few fixed names are meant, not new ones
  /// again and again.
  public var label: String? {
    get { callLabel.text }
    set { callLabel.text = newValue }
  }

  let owner = ItemOwner()
  // SAFETY of @unchecked: guarded by the lock of the owner's items; before there is an owner, only
  // touched by init and by the one cancel() that moves `owner` on.
  var handler: Handler?
  var modes: UInt64 = 0

  /// An observer.
  ///
  /// - Parameters:
  ///   - activities: The points to be told of.
  ///   - repeats: False to be told once, of the first of the points that comes.
  ///   - order: The place among the observers of the loop.
  ///   - handler: Called on the loop's thread.
  public init(
    for activities: Activity, repeats: Bool = true, order: Int = 0, handler: @escaping Handler
  ) {
    self.activities = activities
    self.repeats = repeats
    self.order = order
    self.handler = handler
  }

  /// Ends the observing for good, and releases the handler. After the call no handler begins.
  ///
  /// - Returns: Whether this call ended it.
  @discardableResult
  public func cancel() -> Bool {
    switch owner.cancel() {
    case .wasFree:
      handler = nil
      return true
    case .wasCancelled: return false
    case .isOwned(let items): return items.cancel(self)
    }
  }
}

/// The observers of one loop. Guarded by the lock of its items, as are their variables.
struct ObserverTable {
  /// By order.
  private var observers: [RunLoopObserver] = []

  /// The points that any of them is told of.
  var activities: RunLoopObserver.Activity {
    observers.reduce(into: []) { $0.formUnion($1.activities) }
  }

  mutating func add(_ observer: RunLoopObserver, modes: UInt64) {
    observer.modes = modes
    let place = observers.firstIndex { $0.order > observer.order } ?? observers.endIndex
    observers.insert(observer, at: place)
  }

  /// Takes an observer off.
  ///
  /// - Returns: its handler, for release without the lock; nil if it was not there.
  mutating func remove(_ observer: RunLoopObserver) -> RunLoopObserver.Handler? {
    observers.removeAll { $0 === observer }
    defer { observer.handler = nil }
    return observer.handler
  }

  /// Takes all observers off.
  ///
  /// - Returns: their handlers, for release without the lock.
  mutating func close() -> [Any?] { observers.map { remove($0) } }

  /// Those to be told of a point.
  func observers(
    of activity: RunLoopObserver.Activity, in modes: UInt64
  ) -> [RunLoopObserver] {
    observers.filter { $0.modes & modes != 0 && $0.activities.contains(activity) }
  }

  /// The handler of an observer that is about to be told; taken off if it is told once.
  mutating func handler(_ observer: RunLoopObserver) -> RunLoopObserver.Handler? {
    observer.repeats ? observer.handler : remove(observer)
  }
}

extension ThreadRunLoop {
  /// Adds an observer, to be told while the loop runs in one of the modes.
  ///
  /// - Throws: EBUSY when it was added to a loop before; ECANCELED when it was cancelled; ESRCH when
  ///   the loop's thread has ended.
  /// - Note: Safe to call from any thread. Does not wake the loop.
  public func add(_ observer: RunLoopObserver, in modes: ModeSet = .common) throws(ThreadingError) {
    require(
      !modes.isEmpty, "ThreadRunLoop.add: the set of modes is empty; the observer would do nothing")
    try items.add(observer, modes: modes.bits)
  }

  /// Whether any observer is told of a point. A load.
  func isTold(_ activity: RunLoopObserver.Activity) -> Bool {
    // relaxed: an observer that another thread adds just now is told from the next point on.
    observedActivities.load(ordering: .relaxed) & activity.rawValue != 0
  }

  /// Tells the observers that the loop has come to a point.
  func tell(_ activity: RunLoopObserver.Activity, _ modes: UInt64) {
    guard isTold(activity) else { return }
    for observer in items.withLock({ $0.observers.observers(of: activity, in: modes) }) {
      // An earlier one may have cancelled it.
      let handler = items.withLock { state in
        let handler = state.observers.handler(observer)
        if !observer.repeats { state.noteObservers() }
        return handler
      }
      let outer = calls.begin(.observer, observer.callLabel.number)
      handler?(observer, activity)
      calls.end(outer)
    }
  }
}
