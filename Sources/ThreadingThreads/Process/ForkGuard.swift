internal import ThreadingPlatform

/// Sees to it that the child of a fork finds what this layer keeps for the process and for the thread
/// that forks whole, and its locks free, whatever the other threads were doing.
///
/// The C library calls the functions below at each fork, once the package is loaded. The thread that
/// forks takes the locks first, so no other thread is inside; afterwards both processes have them free.
/// Each thread's own locks are not taken but for those of the thread that forks, which gets a handle if
/// it has none: handles of the others are lost in the child, where a lock for all of them stands in.
///
/// In the child, the C target only stores words that were noted before, see
/// ``SystemProcess/store(_:in:)``: nothing of Swift runs there, whose runtime has locks of its own.
enum ForkGuard {
  /// In the order in which they are taken: whoever holds one takes only later ones, and locks of
  /// handles between ``ThreadHandle/ringLock`` and the others.
  private static let locks =
    [
      ThreadHandle.lostLock, ThreadHandle.affinityLock, ControlGroups.substituteLock,
      ThreadLocalNumbers.lock, firstThreadLock,
    ] + ThreadLocalDirectoryLocks.all

  /// Values that are made at their first use are made now. A thread that was in the middle of making
  /// one at the moment of the fork would leave it so for ever.
  private static func makeValues() {
    SystemProcess.makeValues()
    _ = ThreadHandle.main
    ThreadRegistry.makeValues()
    ThreadLocalNumbers.makeValues()
    ThreadAttributes.makeValues()
    AvailableParallelism.makeValues()
  }

  private static let firstThreadLock = ForkSafeLock()
  // SAFETY of nonisolated(unsafe): the first only touched with `firstThreadLock` held, the second by the
  // thread that forks, with the lock that it takes first.
  private nonisolated(unsafe) static var firstThread: ThreadHandle?
  private nonisolated(unsafe) static var parentsFirstThread: ThreadHandle?

  /// The thread that the process has begun with, whose id is the process's: the main thread, or in a
  /// forked child the one that forked.
  static var firstThreadOfProcess: ThreadHandle {
    let forker = firstThreadLock.withLock { unsafe firstThread }
    return ForkedProcess.isCurrent ? forker ?? .main : .main
  }

  fileprivate static func before() {
    makeValues()
    // The thread goes on as the child's first. Without a handle of its own it would take the child's first
    // look at it for the main thread's.
    _ = ThreadHandle.current
    ThreadHandle.ringLock.beforeFork(isFirst: true)
    ThreadHandle.withCurrentIfAny { $0.beforeFork() }
    for lock in locks { lock.beforeFork() }
    // With the locks held, which the child finds free: it sees what is put here, and nobody else does.
    unsafe parentsFirstThread = firstThread
    ThreadHandle.withCurrentIfAny { forker in
      let first = unsafe firstThread ?? .main
      ThreadHandle.affinityBeforeFork(by: forker, isFirst: forker === first)
      unsafe firstThread = forker
    }
  }

  fileprivate static func afterInParent() {
    unsafe firstThread = parentsFirstThread
    unsafe parentsFirstThread = nil
    ThreadHandle.affinityAfterForkInParent()
    for lock in locks.reversed() { lock.afterForkInParent() }
    ThreadHandle.withCurrentIfAny { $0.afterForkInParent() }
    ThreadHandle.ringLock.afterForkInParent()
  }
}

@c(ctp_threads_before_fork)
package func threadsBeforeFork() { ForkGuard.before() }

@c(ctp_threads_after_fork_in_parent)
package func threadsAfterForkInParent() { ForkGuard.afterInParent() }
