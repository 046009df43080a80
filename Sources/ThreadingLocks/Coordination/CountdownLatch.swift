public import Synchronization
public import ThreadingPlatform

/// A gate that opens for good once it has been counted down to zero.
///
/// Threads wait until a number of things have happened, each of which is told by ``countDown(by:)``;
/// it remembers, so it does not matter who comes first. With a count of 1 it is a start signal.
///
/// - Note: Safe to use from any thread. What was done before each ``countDown(by:)`` happens before
///   the return of any wait that finds the gate open.
public final class CountdownLatch: Sendable {
  // word = count * 2 + sleepers
  //
  // count | sleepers | meaning                        | leaves by
  // n > 0 | 0        | closed, nobody sleeps          | countDown() -> less; wait() -> sleepers
  // n > 0 | 1        | closed, a thread may be asleep | countDown() -> less; to 0 wakes all
  // 0     | 0        | open                           | never
  @usableFromInline let word: Atomic<UInt32>
  private let label: String?

  @inlinable static var sleepers: UInt32 { 1 }

  /// The largest count.
  public static var maximumCount: Int { Int(Int32.max) }

  /// A gate that opens after `count` things have been counted down.
  ///
  /// - Parameters:
  ///   - count: From 0, which makes an open gate, to ``maximumCount``. Any other number stops the
  ///     program.
  ///   - label: What messages about misuse call the latch.
  public init(_ count: Int, label: String? = nil) {
    self.label = label
    guard (0...Self.maximumCount).contains(count) else {
      fatalError(
        "\(Self.name(label)): made with a count of \(count); 0 to \(Self.maximumCount) are allowed")
    }
    word = Atomic(UInt32(count) << 1)
  }

  /// How much is left to be counted down at this moment.
  @inlinable
  public var count: Int { Int(word.load(ordering: .relaxed) >> 1) }

  /// Whether the gate is open. Once true, always true.
  @inlinable
  public var isOpen: Bool {
    // acquiring: pairs with the releases in countDown().
    word.load(ordering: .acquiring) >> 1 == 0
  }

  /// Counts down; at zero, opens the gate and wakes all that wait.
  ///
  /// Costs one atomic step, and a wake when the gate opens and threads wait.
  ///
  /// - Parameter amount: How much, from 1 to what is left. Any other number stops the program.
  /// - Returns: Whether this call has opened the gate.
  @discardableResult
  public func countDown(by amount: Int = 1) -> Bool {
    var seen = word.load(ordering: .relaxed)
    while true {
      let left = Int(seen >> 1)
      guard amount >= 1 && amount <= left else { stop(amount, left) }
      let next = amount == left ? 0 : UInt32(left - amount) << 1 | seen & Self.sleepers
      // releasing: what we did is visible to those that find the gate open. Each step continues the
      // release of those before it. acquiring: the call that opens the gate does not wait, and yet sees
      // what all the others did.
      let (done, original) = word.weakCompareExchange(
        expected: seen, desired: next, ordering: .acquiringAndReleasing)
      guard done else {
        seen = original
        continue
      }
      guard next == 0 else { return false }
      if seen & Self.sleepers != 0 { Futex.wakeAll(word) }
      return true
    }
  }

  /// Sleeps until the gate is open. Costs one load when it is.
  @available(*, noasync, message: "wait blocks the calling thread")
  @inlinable
  public func wait() {
    if !isOpen { _ = waitSlowly(until: .distantFuture) }
  }

  /// Sleeps until the gate is open or a moment has come.
  ///
  /// - Returns: Whether the gate is open.
  @available(*, noasync, message: "wait blocks the calling thread")
  @inlinable
  public func wait(until deadline: MonotonicInstant) -> Bool {
    isOpen || waitSlowly(until: deadline)
  }

  /// Sleeps until the gate is open or `duration` has passed.
  ///
  /// - Parameter duration: The longest time to wait, on the monotonic clock.
  /// - Returns: Whether the gate is open.
  @available(*, noasync, message: "wait blocks the calling thread")
  @inlinable
  public func wait(for duration: Duration) -> Bool {
    isOpen || waitSlowly(until: .now.advanced(by: duration))
  }

  /// Counts down by one and sleeps until the gate is open.
  @available(*, noasync, message: "wait blocks the calling thread")
  public func countDownAndWait() {
    if !countDown() { wait() }
  }

  @usableFromInline
  func waitSlowly(until deadline: MonotonicInstant) -> Bool {
    while true {
      // acquiring, both: pair with the releases in countDown().
      let seen = word.load(ordering: .acquiring)
      if seen >> 1 == 0 { return true }
      let marked = seen | Self.sleepers
      guard
        seen == marked
          || word.compareExchange(expected: seen, desired: marked, ordering: .relaxed).exchanged
      else { continue }
      if Futex.wait(word, while: marked, until: deadline) == .timedOut { return isOpen }
    }
  }

  private func stop(_ amount: Int, _ left: Int) -> Never {
    fatalError("\(Self.name(label)).countDown: by \(amount), with \(left) left")
  }

  private static func name(_ label: String?) -> String {
    Misuse.name("CountdownLatch", label)
  }
}
