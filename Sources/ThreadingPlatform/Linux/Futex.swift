internal import CThreadingPlatform
internal import Glibc
package import Synchronization

/// Sleeping on a 32-bit word, and waking those that sleep: the only code of the package that calls
/// the kernel's `futex(2)`.
///
/// The word is an `Atomic<UInt32>` that is a `let` in a class, a global, or nested in such a place:
/// it then keeps one address for its lifetime, which is what identifies it to the kernel. The
/// standard library does not promise that borrowing an `Atomic` yields that address; a test of this
/// package checks that it does.
package enum Futex {
  /// Why ``wait(_:while:until:)`` returned.
  package enum WaitResult: Sendable {
    /// A wake came, a signal was handled, or the word had changed: look at the word again.
    case lookAgain
    /// The deadline passed.
    case timedOut
  }

  /// Which of the threads that sleep on a word a wake is for.
  package struct Sleepers: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static var ordinary: Sleepers { Sleepers(rawValue: 1) }
    package static var urgent: Sleepers { Sleepers(rawValue: 2) }
    package static var all: Sleepers { Sleepers(rawValue: .max) }
  }

  /// Sleeps while the word still holds `expected`, at most until `deadline`.
  ///
  /// May return early, so callers loop. Ordering: the kernel compares the word with `expected`
  /// after it has queued the caller, so a waker that changes the word before it calls
  /// ``wake(_:count:)`` is never missed. The call itself orders no other memory.
  ///
  /// A wait with a limit may be one that a ``WaitInterruption`` can end; it then answers
  /// ``WaitResult/timedOut`` before its moment. It does so only when it has not slept, so no wake is
  /// used up by it.
  ///
  /// - Parameters:
  ///   - word: The word.
  ///   - expected: What it holds.
  ///   - deadline: When the caller's wait ends.
  ///   - pause: When it wants to look again, if nothing comes before. That is not a time-out.
  ///   - sleepers: As which of the sleepers it may be woken.
  /// - Returns: Why it ended.
  package static func wait(
    _ word: borrowing Atomic<UInt32>, while expected: UInt32,
    until deadline: MonotonicInstant = .distantFuture, lookingAgainAt pause: MonotonicInstant,
    as sleepers: Sleepers = .all
  ) -> WaitResult {
    guard pause < deadline else {
      return wait(word, while: expected, until: deadline, as: sleepers)
    }
    let result = interruptibly(word, while: expected, of: deadline, until: pause, as: sleepers)
    // The system is never early: what says so before the pause was interrupted.
    return result == .timedOut && MonotonicInstant.now < pause ? .timedOut : .lookAgain
  }

  /// The same without a pause.
  package static func wait(
    _ word: borrowing Atomic<UInt32>, while expected: UInt32,
    until deadline: MonotonicInstant = .distantFuture, as sleepers: Sleepers = .all
  ) -> WaitResult {
    interruptibly(word, while: expected, of: deadline, until: deadline, as: sleepers)
  }

  /// Sleeps at most until a moment, for a wait that ends at its deadline or is ended by an interruption.
  private static func interruptibly(
    _ word: borrowing Atomic<UInt32>, while expected: UInt32, of deadline: MonotonicInstant,
    until limit: MonotonicInstant, as sleepers: Sleepers
  ) -> WaitResult {
    guard deadline != .distantFuture, let interruption = unsafe ctp_get_wait_interruption(),
      ctp_get_wait_limit() == deadline.nanoseconds
    else { return sleep(word, while: expected, until: limit, as: sleepers) }
    // SAFETY: the thread has put it there, keeps it, and takes it away at the end of its wait.
    let known = unsafe Unmanaged<WaitInterruption>.fromOpaque(interruption)
    guard unsafe known._withUnsafeGuaranteedRef({ $0.announce(address(of: word)) }) else {
      // As the kernel, which compares the word before it looks at the clock.
      return word.load(ordering: .relaxed) == expected ? .timedOut : .lookAgain
    }
    defer { unsafe known._withUnsafeGuaranteedRef { $0.withdraw() } }
    return sleep(word, while: expected, until: limit, as: sleepers)
  }

  static func sleep(
    _ word: borrowing Atomic<UInt32>, while expected: UInt32, until deadline: MonotonicInstant,
    as sleepers: Sleepers = .all
  ) -> WaitResult {
    let groups = sleepers.rawValue
    let code: CInt
    if deadline == .distantFuture {
      code = unsafe withAddress(of: word) { unsafe ctp_futex_wait($0, expected, nil, groups) }
    } else {
      var limit = deadline.timespec
      code = unsafe withAddress(of: word) { unsafe ctp_futex_wait($0, expected, &limit, groups) }
    }
    // EAGAIN: the word changed first. EINTR: a signal was handled.
    switch code {
    case 0, EAGAIN, EINTR: return .lookAgain
    case ETIMEDOUT: return .timedOut
    default: fatalError("Futex.wait: the kernel refused the call with errno \(code)")
    }
  }

  /// Wakes at most `count` threads that sleep on the word, oldest first.
  ///
  /// - Returns: how many were woken.
  @discardableResult
  package static func wake(
    _ word: borrowing Atomic<UInt32>, count: CInt, of sleepers: Sleepers = .all
  ) -> CInt {
    unsafe withAddress(of: word) { unsafe wake($0, count: count, of: sleepers) }
  }

  private static func wake(
    _ word: UnsafePointer<UInt32>, count: CInt, of sleepers: Sleepers = .all
  ) -> CInt {
    let woken = unsafe ctp_futex_wake(word, count, sleepers.rawValue)
    // EFAULT: the word's memory has been returned to the system after the waker had let go of it,
    // so nobody sleeps there. Any other refusal is a fault of ours.
    if woken == -EFAULT { return 0 }
    require(woken >= 0, "Futex.wake: the kernel refused the call with errno \(-woken)")
    return woken
  }

  /// Wakes all threads that sleep on the word.
  @discardableResult
  package static func wakeAll(_ word: borrowing Atomic<UInt32>) -> CInt {
    wake(word, count: .max)
  }

  /// Wakes all threads that sleep on the word at an address. The word may be gone: then nobody sleeps
  /// there, or somebody who looks again.
  static func wakeAll(at address: UInt) {
    if let word = unsafe UnsafePointer<UInt32>(bitPattern: address) {
      _ = unsafe wake(word, count: .max)
    }
  }

  /// The address by which the kernel knows the word: to tell words apart, and for messages.
  package static func address(of word: borrowing Atomic<UInt32>) -> UInt {
    unsafe withAddress(of: word) { UInt(bitPattern: $0) }
  }

  /// The same as messages give it, of a word of any width.
  package static func hexAddress<Value>(of word: borrowing Atomic<Value>) -> String {
    // SAFETY: the pointer is only looked at.
    let address = unsafe withUnsafePointer(to: word) { UInt(bitPattern: $0) }
    return "0x" + String(address, radix: 16)
  }

  // SAFETY: Atomic<UInt32> stores its value in place, with UInt32's size and alignment, so the
  // address of the one is the address of the other. The pointer is only used inside `body`.
  private static func withAddress<Result>(
    of word: borrowing Atomic<UInt32>, _ body: (UnsafePointer<UInt32>) -> Result
  ) -> Result {
    unsafe withUnsafePointer(to: word) {
      unsafe body(UnsafeRawPointer($0).assumingMemoryBound(to: UInt32.self))
    }
  }
}
