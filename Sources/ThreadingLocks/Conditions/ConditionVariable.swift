internal import Synchronization
public import ThreadingPlatform

/// Lets threads sleep until what they wait for holds, together with a ``FastMutex``.
///
/// ```swift
/// // Waiting:                                   // Making it true:
/// mutex.withLock {                              mutex.withLock { jobs.append(job) }
///   condition.wait(mutex) { !jobs.isEmpty }     condition.signal()
///   take(jobs.removeFirst())
/// }
/// ```
///
/// The rule that makes it right: what is waited for is read and changed with the mutex held, and a
/// change is followed by ``signal()`` or ``broadcast()``. Signalling after the mutex has been given
/// back is allowed and cheaper, since the woken thread then finds the mutex free.
///
/// A signal wakes a thread that waits at that moment and is not remembered: one that comes before
/// the wait is lost, which the rule makes harmless.
///
/// Use ``signal()`` where any one of the waiting threads can go on, and ``broadcast()`` where they
/// wait for different things: a single signal might reach a thread that it is not for.
///
/// The mutex is handed to each wait. All threads that wait at one time must use the same one.
///
/// - Note: Safe to use from any thread. The mutex orders what its holders write; the condition
///   itself orders nothing more.
public struct ConditionVariable: ~Copyable, Sendable {
  // A waiter reads `sequence` with the mutex held, counts itself among `sleeping` and sleeps while
  // the sequence stands still; a signal moves it on, then looks for sleepers and wakes. Of the count
  // and the move one comes first: if the count, the signal sees it; if the move, the kernel, which
  // compares the word after the count, does not let the waiter sleep.
  // (It would miss exactly 2^32 signals that come between its reading and its sleeping.)

  /// Counts signals that found a waiter.
  private let sequence = Atomic<UInt32>(0)
  /// Threads inside `wait`. Changed with the mutex held.
  private let waiting = Atomic<UInt32>(0)
  /// Those of them that sleep, or are about to or have just done so.
  private let sleeping = Atomic<UInt32>(0)
  private let history = SpinHistory()
  /// Which mutex those threads use. Only to find misuse; means something while `waiting` is not 0.
  private let mutexInUse = Atomic<UInt>(0)

  private let label: String?

  /// A condition that nobody waits for.
  ///
  /// - Parameter label: What messages about misuse call the condition; without one they give its
  ///   address.
  public init(label: String? = nil) {
    self.label = label
  }

  private var name: String { Misuse.name("ConditionVariable", label) }

  deinit {
    // relaxed: whoever destroys the condition has exclusive access to it.
    let left = waiting.load(ordering: .relaxed)
    if left != 0 {
      fatalError(
        "\(name): destroyed while \(left) threads wait for it, at "
          + "\(Futex.hexAddress(of: sequence)), by \(Misuse.caller)")
    }
  }

  /// Gives the mutex back, sleeps until signalled or until a moment, and takes the mutex again.
  ///
  /// Prefer the form with a condition, which looks again by itself.
  ///
  /// - Returns: false when the moment came first. May return true without a signal, so callers look
  ///   again at what they wait for.
  /// - Precondition: The calling thread holds the mutex, and all threads that wait now use the same
  ///   mutex. If not, the program stops.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public borrowing func wait(
    _ mutex: borrowing FastMutex, until deadline: MonotonicInstant = .distantFuture
  ) -> Bool {
    checkUse(of: mutex)
    // relaxed, both: the mutex is held, and whoever signals a change has held it after us.
    let seen = sequence.load(ordering: .relaxed)
    waiting.wrappingAdd(1, ordering: .relaxed)
    mutex.unlock()
    var hasTimedOut = false
    // relaxed: the mutex orders what is waited for.
    if history.look(until: deadline, for: { sequence.load(ordering: .relaxed) != seen }) {
      mutex.lock()
    } else {
      // sequentially consistent: pairs with the same in notify(); see above.
      sleeping.wrappingAdd(1, ordering: .sequentiallyConsistent)
      hasTimedOut = Futex.wait(sequence, while: seen, until: deadline) == .timedOut
      // relaxed: only says that one less sleeps.
      sleeping.wrappingSubtract(1, ordering: .relaxed)
      mutex.lockAfterSleep()
    }
    waiting.wrappingSubtract(1, ordering: .relaxed)
    return !hasTimedOut
  }

  /// Gives the mutex back, sleeps until signalled or for as long as `duration`, and takes the mutex
  /// again.
  ///
  /// - Parameters:
  ///   - mutex: The mutex that guards what is waited for.
  ///   - duration: The longest time to sleep, on the monotonic clock.
  /// - Returns: false when the time was up first. May return true without a signal, so callers look
  ///   again at what they wait for.
  /// - Precondition: As for ``wait(_:until:)``.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public borrowing func wait(_ mutex: borrowing FastMutex, for duration: Duration) -> Bool {
    wait(mutex, until: .now.advanced(by: duration))
  }

  /// Sleeps until `condition` holds or a moment has come; `condition` is asked with the mutex held,
  /// first of all and after each wake.
  ///
  /// - Returns: What `condition` said last: false only when the moment came first.
  /// - Precondition: As for ``wait(_:until:)``.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public borrowing func wait(
    _ mutex: borrowing FastMutex, until deadline: MonotonicInstant = .distantFuture,
    condition: () -> Bool
  ) -> Bool {
    checkUse(of: mutex)
    while !condition() {
      if !wait(mutex, until: deadline) { return condition() }
    }
    return true
  }

  /// Sleeps until `condition` holds or `duration` has passed; `condition` is asked with the mutex
  /// held, first of all and after each wake.
  ///
  /// - Parameters:
  ///   - mutex: The mutex that guards what is waited for.
  ///   - duration: The longest time to sleep, on the monotonic clock.
  ///   - condition: What is waited for.
  /// - Returns: What `condition` said last: false only when the time was up first.
  /// - Precondition: As for ``wait(_:until:)``.
  @available(*, noasync, message: "wait blocks the calling thread")
  @discardableResult
  public borrowing func wait(
    _ mutex: borrowing FastMutex, for duration: Duration, condition: () -> Bool
  ) -> Bool {
    wait(mutex, until: .now.advanced(by: duration), condition: condition)
  }

  /// Wakes one thread that waits, if any. Costs one load when nobody waits.
  public borrowing func signal() { notify(1) }

  /// Wakes all threads that wait. Costs one load when nobody waits.
  public borrowing func broadcast() { notify(.max) }

  private borrowing func notify(_ count: CInt) {
    // relaxed: the change that is signalled was made with the mutex held, so each thread that
    // could have missed it has counted itself before that.
    guard waiting.load(ordering: .relaxed) != 0 else { return }
    // sequentially consistent, both: pair with the same in wait(); see above. Data goes through the
    // mutex.
    sequence.wrappingAdd(1, ordering: .sequentiallyConsistent)
    if sleeping.load(ordering: .sequentiallyConsistent) != 0 {
      Futex.wake(sequence, count: count)
    }
  }

  private borrowing func checkUse(of mutex: borrowing FastMutex) {
    guard mutex.isHeldByCurrentThread else {
      fatalError(
        "\(name).wait: the calling thread does not hold the mutex at \(mutex.address), which is "
          + "held by \(mutex.ownerDescription); called by \(Misuse.caller)")
    }
    let address = Futex.address(of: mutex.word)
    // relaxed, all: the mutex is held, so with one mutex in use nobody else is here.
    if waiting.load(ordering: .relaxed) == 0 {
      mutexInUse.store(address, ordering: .relaxed)
    } else if mutexInUse.load(ordering: .relaxed) != address {
      fatalError(
        "\(name).wait: other threads wait with another mutex than the one at \(mutex.address), "
          + "called by \(Misuse.caller)")
    }
  }
}
