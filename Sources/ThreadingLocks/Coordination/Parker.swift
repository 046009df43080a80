internal import Synchronization
public import ThreadingPlatform

/// Lets one thread sleep until another tells it to go on: the smallest thing to wait with, to build
/// others from.
///
/// It holds at most one permit. ``unpark()`` puts it there, ``park()`` takes it, sleeping until it
/// is there. So it does not matter which comes first, and several unparks before a park count as
/// one.
///
/// - Note: ``unpark()`` is safe to call from any thread. Only one thread at a time may park; two
///   stop the program. What was written before the unpark happens before the return of the park
///   that it ends.
public final class Parker: Sendable {
  // State         | meaning                    | leaves by
  // empty = 0     | no permit                  | park() -> id; unpark() -> permit
  // a thread's id | that thread may be asleep  | unpark() -> permit, and wakes; its moment -> empty
  // permit = max  | a permit                   | park() -> empty
  private let word = Atomic<UInt32>(0)
  private let history = SpinHistory()
  private let label: String?

  private static var empty: UInt32 { 0 }
  private static var permit: UInt32 { .max }

  /// A parker without a permit.
  ///
  /// - Parameter label: What messages about misuse call the parker.
  public init(label: String? = nil) {
    self.label = label
  }

  deinit {
    // relaxed: whoever destroys it has exclusive access to it.
    let last = word.load(ordering: .relaxed)
    if last != Self.empty && last != Self.permit { Misuse.stopDestroying(name, awaitedBy: last) }
  }

  /// Takes the permit, sleeping until it is there.
  @available(*, noasync, message: "park blocks the calling thread")
  public func park() {
    _ = park(until: .distantFuture)
  }

  /// Takes the permit, sleeping until it is there or a moment has come.
  ///
  /// - Returns: Whether the permit was taken.
  @available(*, noasync, message: "park blocks the calling thread")
  public func park(until deadline: MonotonicInstant) -> Bool {
    // acquiring, all: pair with the release in unpark().
    if takePermit() || history.look(until: deadline, for: { takePermit() }) { return true }
    let me = SystemThread.currentID
    let (slept, seen) = word.compareExchange(
      expected: Self.empty, desired: me, ordering: .acquiring)
    if !slept {
      guard seen == Self.permit else { stopSecondParking(seen) }
      // Only a parking thread takes a permit away, and that is us.
      return takePermit()
    }
    while true {
      let result = Futex.wait(word, while: me, until: deadline)
      if takePermit() { return true }
      if result == .timedOut {
        return word.exchange(Self.empty, ordering: .acquiring) == Self.permit
      }
    }
  }

  /// Takes the permit, sleeping until it is there or `duration` has passed.
  ///
  /// - Parameter duration: The longest time to sleep, on the monotonic clock. Zero or less looks
  ///   once.
  /// - Returns: Whether the permit was taken.
  @available(*, noasync, message: "park blocks the calling thread")
  public func park(for duration: Duration) -> Bool {
    park(until: .now.advanced(by: duration))
  }

  /// Puts the permit there, and wakes the thread that sleeps for it.
  public func unpark() {
    // releasing: what we wrote is visible to the thread that takes the permit.
    let before = word.exchange(Self.permit, ordering: .releasing)
    if before != Self.empty && before != Self.permit { Futex.wake(word, count: 1) }
  }

  private func takePermit() -> Bool {
    // relaxed: looked at first, so that looking again and again leaves the word to its writer.
    word.load(ordering: .relaxed) == Self.permit
      && word.compareExchange(expected: Self.permit, desired: Self.empty, ordering: .acquiring)
        .exchanged
  }

  private var name: String { Misuse.name("Parker", label) }

  private func stopSecondParking(_ first: UInt32) -> Never {
    fatalError(
      "\(name).park: another thread is parked already, \(Misuse.holder(first)); "
        + "called by \(Misuse.caller)")
  }
}
