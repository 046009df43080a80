internal import Synchronization
public import ThreadingPlatform

/// Lets threads sleep until what they wait for holds, together with a ``FastMutex``.
public struct ConditionVariable: ~Copyable, Sendable {
  /// Counts signals; a waiter sleeps while it stands still.
  private let sequence = Atomic<UInt32>(0)
  /// Threads inside `wait`. Changed with the mutex held.
  private let waiting = Atomic<UInt32>(0)

  /// A condition that nobody waits for.
  public init() {}

  /// Gives the mutex back, sleeps until signalled or until a moment, and takes the mutex again.
  ///
  /// - Returns: false when the moment came first. May return true without a signal, so callers look
  ///   again at what they wait for; ``wait(_:until:for:)`` does so by itself.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public borrowing func wait(
    _ mutex: borrowing FastMutex, until deadline: MonotonicInstant = .distantFuture
  ) -> Bool {
    // relaxed, both: the mutex is held, and whoever signals a change has held it after us.
    let seen = sequence.load(ordering: .relaxed)
    waiting.wrappingAdd(1, ordering: .relaxed)
    mutex.unlock()
    let result = Futex.wait(sequence, while: seen, until: deadline)
    mutex.lock()
    waiting.wrappingSubtract(1, ordering: .relaxed)
    return result != .timedOut
  }

  /// Sleeps until `condition` holds or a moment has come; `condition` is asked with the mutex held.
  ///
  /// - Returns: What `condition` said last: false only when the moment came first.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public borrowing func wait(
    _ mutex: borrowing FastMutex, until deadline: MonotonicInstant = .distantFuture,
    for condition: () -> Bool
  ) -> Bool {
    while !condition() {
      if !wait(mutex, until: deadline) { return condition() }
    }
    return true
  }

  /// Wakes one thread that waits, if any.
  public borrowing func signal() { notify(1) }

  /// Wakes all threads that wait.
  public borrowing func broadcast() { notify(.max) }

  private borrowing func notify(_ count: CInt) {
    // relaxed: the change that is signalled was made with the mutex held, so each thread that
    // could have missed it has counted itself before that.
    guard waiting.load(ordering: .relaxed) != 0 else { return }
    sequence.wrappingAdd(1, ordering: .releasing)
    Futex.wake(sequence, count: count)
  }
}
