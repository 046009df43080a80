internal import ThreadingLocks
internal import ThreadingPlatform

/// A lock that is free in a forked child, with what it guards whole: the thread that forks takes it
/// before. One of those that ``ForkGuard`` knows.
package final class ForkSafeLock: Sendable {
  private let mutex = FastMutex()

  package func withLock<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try mutex.withLock(body)
  }

  /// - Parameter isFirst: whether this is the lock that all threads which fork take first, which guards
  ///   the list of what is stored in the child.
  func beforeFork(isFirst: Bool = false) {
    mutex.lock()
    if isFirst { SystemProcess.clearChildValues() }
    mutex.freeInForkedChild()
  }

  func afterForkInParent() { mutex.unlock() }
}
