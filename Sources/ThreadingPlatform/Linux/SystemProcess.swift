internal import CThreadingPlatform
internal import Glibc
internal import Synchronization

/// The process's own beginning and end.
package enum SystemProcess {
  /// How many forks lie between the process that was executed and this one. Costs a load.
  package static var forkGeneration: UInt32 { ctp_get_fork_generation() }

  /// Keeps the process open, when its main thread returns or `exit` is called, until ``letGo()``.
  package static func hold() {
    _ = isWatched
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
