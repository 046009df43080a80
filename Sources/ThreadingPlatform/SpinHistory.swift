internal import Synchronization

/// Whether it has paid of late to look at something for a moment before sleeping until it changes.
///
/// A sleep and the wake that ends it cost both sides some microseconds, on two processors some ten or
/// more. Where the other side is about to act anyway, looking is up to thirty times as fast; where it
/// is not, or has to share the processor, looking is time burnt. Only the past tells which, so each
/// object keeps a history: four bytes, a hint that is never waited for.
///
/// A look takes as long as a sleep and its wake would, so it never costs more than twice the right
/// choice. One that succeeds is followed by more; when the last ones failed, the next 1,024 waits sleep
/// at once. So waits in vain burn some 20 ns each.
package struct SpinHistory: ~Copyable, Sendable {
  // value = credit + skipped * 256
  //
  // credit | meaning                  | changes
  // 0      | do not look              | each wait counts as skipped; after `rest` of them one looks
  // 1...8  | look                     | success: up by 2; failure: down by 1
  //
  // relaxed, all: threads may overwrite each other's figures, which costs a look too many or too few.
  private let state = Atomic<UInt32>(SpinHistory.firstCredit)

  private static var firstCredit: UInt32 { 2 }
  private static var mostCredit: UInt32 { 8 }
  private static var rest: UInt32 { 1_024 }
  private static var longestLook: Int { 20_000 }

  package init() {}

  /// Looks for a moment whether something has come, if that has paid of late.
  ///
  /// - Parameters:
  ///   - deadline: When the caller's wait ends: if that moment has come, it does not look.
  ///   - isOver: Asked again and again. It must be quick and must not wait.
  /// - Returns: Whether `isOver` said so; if not, it is time to sleep.
  @inline(__always)
  package borrowing func look(until deadline: MonotonicInstant, for isOver: () -> Bool) -> Bool {
    let seen = state.load(ordering: .relaxed)
    let credit = seen & 0xFF
    if credit == 0 && seen >> 8 < Self.rest {
      state.store(seen + 0x100, ordering: .relaxed)
      return false
    }
    guard deadline == .distantFuture || .now < deadline else { return false }
    var spin = Spin(for: Self.longestLook)
    while spin.pause() {
      if isOver() {
        state.store(min(credit + 2, Self.mostCredit), ordering: .relaxed)
        return true
      }
    }
    state.store(credit > 0 ? credit - 1 : 0, ordering: .relaxed)
    return false
  }
}
