internal import Synchronization
internal import ThreadingPlatform

/// One answer, given by one thread and waited for by another.
final class OneShot<Value: Sendable>: Sendable {
  // State     | meaning                             | leaves by
  // waiting   | no answer yet                       | give, giveUp
  // given     | `value` holds the answer; final     | never
  // givenUp   | there will be no answer; final      | never
  private let state = Atomic<UInt32>(waiting)
  private static var waiting: UInt32 { 0 }
  private static var given: UInt32 { 1 }
  private static var givenUp: UInt32 { 2 }
  /// Whether somebody has the right to answer already.
  private let isClaimed = Atomic<Bool>(false)

  // SAFETY: written by the one call that claims the answer, before it releases `given`; read by the
  // waiter after it has acquired that.
  private nonisolated(unsafe) var value: Value?

  /// What a waiter gets.
  enum Answer {
    case value(Value)
    case none
    case timedOut
  }

  init() {}

  /// Answers. Only the first call of this and ``giveUp()`` counts.
  @discardableResult
  func give(_ value: Value) -> Bool {
    guard claim() else { return false }
    unsafe self.value = value
    end(Self.given)
    return true
  }

  /// Says that there will be no answer.
  func giveUp() {
    if claim() { end(Self.givenUp) }
  }

  /// Waits for the answer.
  func wait(until deadline: MonotonicInstant = .distantFuture) -> Answer {
    while true {
      // acquiring: pairs with the release in end().
      switch state.load(ordering: .acquiring) {
      case Self.waiting:
        if Futex.wait(state, while: Self.waiting, until: deadline) == .timedOut {
          if state.load(ordering: .acquiring) == Self.waiting { return .timedOut }
        }
      case Self.given: return unsafe .value(value!)
      default: return .none
      }
    }
  }

  private func claim() -> Bool {
    // relaxed: only the uniqueness of the winner matters.
    !isClaimed.exchange(true, ordering: .relaxed)
  }

  private func end(_ final: UInt32) {
    // releasing: pairs with the acquire in wait().
    state.store(final, ordering: .releasing)
    Futex.wake(state, count: 1)
  }
}
