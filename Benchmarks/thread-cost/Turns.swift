import Dispatch
import Threading
import ThreadingLocks

/// What one thread gives and another waits for.
protocol Turn: Sendable {
  func signal()
  func wait()
}

/// The C library's semaphore.
struct PosixTurn: Turn {
  private let semaphore: PosixSemaphore

  init() {
    do throws(ThreadingError) {
      semaphore = try PosixSemaphore(0)
    } catch {
      // Only a count out of range is refused.
      fatalError("PosixTurn: \(error)")
    }
  }

  func signal() {
    do throws(ThreadingError) {
      try semaphore.post()
    } catch {
      fatalError("PosixTurn.signal: \(error)")
    }
  }
  func wait() { semaphore.wait() }
}

/// The toolkit's.
struct OurTurn: Turn {
  private let semaphore = CountingSemaphore(0)

  func signal() { semaphore.release() }
  func wait() { semaphore.acquire() }
}

/// Dispatch's.
struct DispatchTurn: Turn {
  private let semaphore = DispatchSemaphore(value: 0)

  func signal() { _ = semaphore.signal() }
  func wait() { semaphore.wait() }
}
