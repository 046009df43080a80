internal import Synchronization
internal import ThreadingPlatform

/// One round of a barrier. Each round has a word of its own, so that a slow thread finds out how
/// its round ended, whatever happened since.
final class Meeting: Sendable {
  // State      | meaning                          | leaves by
  // open = 0   | not all have come, none sleeps   | wait() -> asleep; end() -> passed or broken
  // asleep = 1 | not all have come, some may sleep | end() -> passed or broken, and wakes all
  // passed = 2 | final                            | never
  // broken = 3 | final                            | never
  private let word = Atomic<UInt32>(0)

  /// Called once, by the thread that has put another meeting in its place.
  func end(passed: Bool) {
    // releasing: what all did before they arrived, and the action, is visible to those that go on.
    if word.exchange(passed ? 2 : 3, ordering: .releasing) == 1 { Futex.wakeAll(word) }
  }

  /// - Returns: Whether all came, or nil when the moment came first.
  func wait(until deadline: MonotonicInstant) -> Bool? {
    while true {
      // acquiring: pairs with the release in end().
      let (_, seen) = word.compareExchange(expected: 0, desired: 1, ordering: .acquiring)
      if seen > 1 { return seen == 2 }
      if Futex.wait(word, while: 1, until: deadline) == .timedOut { return nil }
    }
  }
}
