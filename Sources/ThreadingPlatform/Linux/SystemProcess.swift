internal import CThreadingPlatform
internal import Glibc
package import Synchronization

/// The process's own beginning and end.
package enum SystemProcess {
  /// How many forks lie between the process that was executed and this one. Costs a load.
  package static var forkGeneration: UInt32 { ctp_get_fork_generation() }

  /// Keeps the process open, when its main thread returns or `exit` is called, until ``letGo()``.
  ///
  /// - Throws: `ENOMEM` when the C library has no memory for that.
  package static func hold() throws(ThreadingError) {
    guard isWatched else { throw .refused("atexit", ENOMEM) }
    // relaxed: no data goes with the count.
    holders.wrappingAdd(1, ordering: .relaxed)
  }

  /// Notes that one of those that called ``hold()`` is done.
  package static func letGo() {
    // releasing: what the thread did happens before the handlers of the exit that come after.
    holders.wrappingSubtract(1, ordering: .releasing)
    Futex.wakeAll(holders)
  }

  /// Whether the calling thread is one of those for which ``hold()`` was called: if it exits itself, it
  /// does not wait for its own end.
  package static var isHeldByCurrentThread: Bool {
    get { ctp_get_holds_process() }
    set { ctp_set_holds_process(newValue) }
  }

  /// What a word is to hold in the child of a fork.
  package enum ChildValue: Sendable {
    /// Zero: a lock is free.
    case zero
    /// The kernel id of the child's thread.
    case threadID
    /// The same if the word held the id that the thread has in the parent; else zero.
    case threadIDIfOwn
    /// The child's ``forkGeneration``.
    case generation
  }

  /// Forgets what was to be stored in a child. For the thread that forks, with a lock held that all such
  /// threads take; as ``store(_:in:)``.
  package static func clearChildValues() { ctp_fork_clear() }

  /// Has a word stored in the child of the fork that the calling thread is about to make, before anything
  /// of the child runs. The word keeps its address till then.
  package static func store(_ value: ChildValue, in word: borrowing Atomic<UInt32>) {
    let native: ctp_fork_value =
      switch value {
      case .zero: ctp_fork_zero
      case .threadID: ctp_fork_thread
      case .threadIDIfOwn: ctp_fork_thread_if_own
      case .generation: ctp_fork_process
      }
    let isNoted = unsafe ctp_fork_add(
      UnsafePointer<UInt32>(bitPattern: Futex.address(of: word))!, native)
    require(isNoted, "SystemProcess.store: no memory is left for a fork")
  }

  /// Makes the values of this layer that are made at their first use, for a fork: a thread that was in
  /// the middle of making one at that moment would leave it so for ever in the child.
  ///
  /// All but `isWatched`: what it registers belongs before the first hold, and cannot be registered inside
  /// a fork on older systems. A child must not hold the process open if another thread of the parent was
  /// just doing that for the first time.
  package static func makeValues() {
    _ = holders.load(ordering: .relaxed)
    _ = SystemThread.listedProgramName
    SystemThread.makeValues()
    ThreadRecordSlot.makeValues()
    PostSheet.makeValues()
    ThreadSampler.makeValues()
    Processors.makeValues()
  }

  /// Registered once, before the first hold: handlers of an exit run in the reverse order, so what was
  /// registered earlier is there for the threads until the last has ended.
  private static let isWatched: Bool = {
    holders.store(0, ordering: .relaxed)
    return atexit(waitForHolders) == 0 && pthread_atfork(nil, nil, forgetHolders) == 0
  }()
}

private let holders = Atomic<UInt32>(0)

private func waitForHolders() {
  let own: UInt32 = SystemProcess.isHeldByCurrentThread ? 1 : 0
  while true {
    // acquiring: pairs with the release in `letGo`.
    let seen = holders.load(ordering: .acquiring)
    if seen <= own { return }
    _ = Futex.wait(holders, while: seen)
  }
}

/// A forked child has none of its parent's threads but the one that forked.
private func forgetHolders() {
  holders.store(SystemProcess.isHeldByCurrentThread ? 1 : 0, ordering: .relaxed)
}
