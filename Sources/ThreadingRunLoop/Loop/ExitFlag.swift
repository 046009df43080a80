internal import Synchronization
internal import ThreadingLocks

/// A condition that ends runs: once set, every `run(until:)` that waits
/// for it returns, on however many threads.
///
/// Unlike ``ThreadRunLoop/stop()``, which ends whichever run is innermost, a flag belongs to the
/// runs that name it.
///
/// - Note: Safe to use from any thread. Everything written before ``set()`` happens before
///   ``isSet`` answers true, and before a run that the flag ended returns.
public final class ExitFlag: Sendable {
  private let flag = Atomic<Bool>(false)
  /// The loops that are running until the flag is set, once per run.
  private let loops = Locked<[ThreadRunLoop]>([])

  /// A flag that is not set.
  public init() {}

  /// Whether the flag is set. Costs a load.
  public var isSet: Bool {
    // acquiring: pairs with the release in set().
    flag.load(ordering: .acquiring)
  }

  /// Sets the flag for good and wakes the loops that run until then. Further calls do nothing.
  ///
  /// What the calling thread posted to such a loop before is still run there.
  public func set() {
    // releasing: pairs with the acquire in isSet. A loop that attaches itself after the lock below
    // has been held sees the flag through the lock; one that did so before is notified.
    flag.store(true, ordering: .releasing)
    for loop in loops.withLock({ $0 }) { loop.notify() }
  }

  func attach(_ loop: ThreadRunLoop) { loops.withLock { $0.append(loop) } }

  func detach(_ loop: ThreadRunLoop) {
    loops.withLock { loops in
      if let index = loops.lastIndex(where: { $0 === loop }) { loops.remove(at: index) }
    }
  }
}
