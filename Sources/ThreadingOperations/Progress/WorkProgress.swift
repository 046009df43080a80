internal import Synchronization
internal import ThreadingLocks
public import ThreadingRunLoop

/// How much of some work is done: two counts that any thread may change and read, and observers that are told
/// of each percent.
///
/// ```swift
/// let progress = WorkProgress(total: lines.count)
/// progress.observe(on: .main) { print("\($0.percent) %") }
/// parallelForEach(lines) { line in
///   read(line)
///   progress.advance()
/// }
/// ```
///
/// - Note: All methods may be called from any thread.
public final class WorkProgress: Sendable {
  /// The counts at one moment.
  public struct Counts: Sendable, Hashable {
    /// How many units are done.
    public let completed: Int
    /// How many there are; 0 while nobody knows.
    public let total: Int

    /// The part that is done, from 0 to 1; 0 while the total is not known.
    public var fraction: Double {
      total > 0 ? min(1, Double(completed) / Double(total)) : 0
    }

    /// The same in whole percent, rounded down: 100 only when all is done.
    public var percent: Int {
      guard total > 0 else { return 0 }
      return completed >= total ? 100 : Int(Double(completed) / Double(total) * 100)
    }

    /// What observers are told a change of: the percent, and 101 while the total is not known.
    var step: Int { total > 0 ? percent : 101 }
  }

  // relaxed, all: the counts carry no other data. A total is raised before its units are done, so that who
  // reads `completed` first sees no more done than there is.
  private let completed = Atomic<Int>(0)
  private let total: Atomic<Int>
  /// The step that the observers were told last; -1 for "no observers".
  private let toldStep = Atomic<Int>(-1)
  private let observers = Locked<[ProgressObserver]>([])

  /// Work of which nothing is done.
  ///
  /// - Parameter total: how many units there are; 0 if that is not known yet.
  /// - Precondition: `total` is not negative. If it is, the program stops.
  public init(total: Int = 0) {
    if total < 0 { fatalError("WorkProgress: a total of \(total) is negative") }
    self.total = Atomic(total)
  }

  /// The counts now.
  public var counts: Counts {
    let done = completed.load(ordering: .acquiring)
    return Counts(completed: done, total: total.load(ordering: .relaxed))
  }

  /// Counts units that are done. Costs one atomic step, and a comparison where there are observers.
  ///
  /// - Parameter count: how many.
  /// - Precondition: `count` is not negative. If it is, the program stops.
  public func advance(by count: Int = 1) {
    if count < 0 { fatalError("WorkProgress.advance: \(count) units are negative") }
    completed.wrappingAdd(count, ordering: .acquiringAndReleasing)
    tell()
  }

  /// Counts units that are to be done in addition.
  ///
  /// - Parameter count: how many.
  /// - Precondition: `count` is not negative. If it is, the program stops.
  public func addTotal(_ count: Int) {
    if count < 0 { fatalError("WorkProgress.addTotal: \(count) units are negative") }
    total.wrappingAdd(count, ordering: .relaxed)
    tell()
  }

  /// Counts all units as done; where the total was not known, it is 1.
  public func complete() {
    _ = total.compareExchange(expected: 0, desired: 1, ordering: .relaxed)
    completed.store(total.load(ordering: .relaxed), ordering: .releasing)
    tell()
  }

  /// Has `body` called with the counts: once soon, when the total becomes known, and whenever the
  /// whole percent has changed, so at most once for each percent while the total stays. Where the calls are slower than the work, percents are
  /// left out, but never the last one.
  ///
  /// Calls for one observer do not overlap.
  ///
  /// - Parameters:
  ///   - loop: on whose thread `body` is called; nil for the thread that makes the step.
  ///   - modes: the modes in which the loop does.
  ///   - body: what to call.
  /// - Returns: the observer, which need not be kept.
  @discardableResult
  public func observe(
    on loop: ThreadRunLoop?, in modes: ThreadRunLoop.ModeSet = .common,
    _ body: @escaping @Sendable (Counts) -> Void
  ) -> ProgressObserver {
    let observer = ProgressObserver(loop: loop, modes: modes, body: body)
    observers.withLock { observers in
      observers.append(observer)
      _ = toldStep.compareExchange(
        expected: -1, desired: counts.step, ordering: .sequentiallyConsistent)
    }
    observer.tell(self)
    return observer
  }

  /// Tells the observers if the percent has changed.
  func tell() {
    // Sequentially consistent: either this thread sees that there is an observer, or the observer, which looks
    // at the counts after it has stood in line, sees what this thread has counted.
    guard toldStep.load(ordering: .sequentiallyConsistent) >= 0 else { return }
    let step = counts.step
    guard toldStep.exchange(step, ordering: .acquiringAndReleasing) != step else { return }
    for observer in observers.withLock({ $0 }) { observer.tell(self) }
    if observers.withLock({ $0.contains { $0.isCancelled } }) {
      let gone = observers.withLock { observers in
        let gone = observers.filter(\.isCancelled)
        observers.removeAll { $0.isCancelled }
        return gone
      }
      // Released without the lock.
      withExtendedLifetime(gone) {}
    }
  }

  // MARK: For queues, which count with their lock held and tell without it

  func countTotal(_ count: Int) { total.wrappingAdd(count, ordering: .relaxed) }
  func countCompleted() { completed.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

extension WorkProgress: CustomStringConvertible {
  /// The counts: `3 of 8 (37 %)`.
  public var description: String {
    let now = counts
    return "\(now.completed) of \(now.total) (\(now.percent) %)"
  }
}
