import BenchmarkSupport
import Dispatch
import Foundation
import Threading

/// A flag under a mutex with a condition: how most programs have one thread wait for another.
/// Signalled with the mutex held, as most do, or after it was given back.
final class PthreadConditionSignal: TurnSignal {
  private let mutex = PthreadMutex()
  private let condition = PthreadCondition()
  // SAFETY: guarded by `mutex`.
  private nonisolated(unsafe) var given = false
  private let whileLocked: Bool

  init(whileLocked: Bool) { self.whileLocked = whileLocked }

  func signal() {
    mutex.lock()
    unsafe given = true
    if whileLocked { condition.signal() }
    mutex.unlock()
    if !whileLocked { condition.signal() }
  }

  func wait() {
    mutex.lock()
    while unsafe !given { condition.wait(mutex) }
    unsafe given = false
    mutex.unlock()
  }
}

/// The same with the toolkit's own parts.
final class OurConditionSignal: TurnSignal {
  private let mutex = FastMutex()
  private let condition = ConditionVariable()
  // SAFETY: guarded by `mutex`.
  private nonisolated(unsafe) var given = false
  private let whileLocked: Bool

  init(whileLocked: Bool) { self.whileLocked = whileLocked }

  func signal() {
    mutex.lock()
    unsafe given = true
    if whileLocked { condition.signal() }
    mutex.unlock()
    if !whileLocked { condition.signal() }
  }

  func wait() {
    mutex.lock()
    while unsafe !given { condition.wait(mutex) }
    unsafe given = false
    mutex.unlock()
  }
}

/// The same with Foundation's.
final class FoundationConditionSignal: TurnSignal {
  private let condition = NSCondition()
  // SAFETY: guarded by `condition`.
  private nonisolated(unsafe) var given = false
  private let whileLocked: Bool

  init(whileLocked: Bool) { self.whileLocked = whileLocked }

  func signal() {
    condition.lock()
    unsafe given = true
    if whileLocked { condition.signal() }
    condition.unlock()
    if !whileLocked { condition.signal() }
  }

  func wait() {
    condition.lock()
    while unsafe !given { condition.wait() }
    unsafe given = false
    condition.unlock()
  }
}

/// Dispatch's semaphore.
final class DispatchSignal: TurnSignal {
  private let semaphore = DispatchSemaphore(value: 0)

  func signal() { _ = semaphore.signal() }
  func wait() { semaphore.wait() }
}

/// The toolkit's semaphore.
final class OurSemaphoreSignal: TurnSignal {
  private let semaphore = CountingSemaphore(0)

  func signal() { semaphore.release() }
  func wait() { semaphore.acquire() }
}
