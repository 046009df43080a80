import Glibc
import Threading

extension EndingChapter {
  /// Ends a thread in the middle of its work, as killing it would.
  static func breakOff(on page: Page) throws {
    let lock = LockInTheWay()
    let isTidy = AtomicFlag()
    // snippet: kill
    let victim = try PosixThread.start {
      lock.mutex.lock()
      defer {
        _ = isTidy.testAndSet()
        lock.mutex.unlock()
      }
      pthread_exit(nil)  // the thread ends here, and nothing after this happens
    }
    _ = try? victim.join()
    let isFree = lock.mutex.tryLock()
    // end
    page.say("lock is free: \(isFree), tidied up: \(isTidy.isSet)")
  }

  /// A lock that is never destroyed, since it is never free again.
  private final class LockInTheWay: Sendable {
    let mutex = FastMutex()

    init() { _ = unsafe Unmanaged.passRetained(self) }
  }
}
