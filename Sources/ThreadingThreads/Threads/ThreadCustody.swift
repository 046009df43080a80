internal import Synchronization
internal import ThreadingPlatform

/// Sees to it that a thread of the system is joined or detached exactly once.
struct ThreadCustody: ~Copyable, Sendable {
  // State      | meaning                                  | leaves by
  // 0 joinable | nobody has claimed the thread            | reap() -> reaping, detach() -> detached
  // 1 reaping  | a joiner is inside the system's join     | its end -> reaped
  // 2 watched  | the same, and others sleep on the word   | its end -> reaped, and wakes all
  // 3 reaped   | the thread is gone                       | never
  // 4 detached | the system frees the thread by itself    | never (a refused start -> joinable)
  private let word = Atomic<UInt32>(0)

  private static var joinable: UInt32 { 0 }
  private static var reaping: UInt32 { 1 }
  private static var watched: UInt32 { 2 }
  private static var reaped: UInt32 { 3 }
  private static var detached: UInt32 { 4 }

  /// Whether the thread was detached.
  var isDetached: Bool { word.load(ordering: .relaxed) == Self.detached }

  /// Whether a joiner is inside the system's join.
  var isBeingReaped: Bool {
    let seen = word.load(ordering: .relaxed)
    return seen == Self.reaping || seen == Self.watched
  }

  /// Joins the thread, or waits until another caller has.
  ///
  /// - Parameters:
  ///   - system: the thread.
  ///   - stack: memory of the caller's that the thread runs on, given back by the one caller that joins
  ///     the thread.
  /// - Returns: whether the thread is gone; false when it is detached.
  borrowing func reap(_ system: SystemThread, on stack: ThreadStack?) -> Bool {
    while true {
      // acquiring: pairs with the release below, so that what the thread wrote, which the system's
      // join made visible to the joiner that made it, is visible here too.
      switch word.load(ordering: .acquiring) {
      case Self.reaped: return true
      case Self.detached: return false
      case Self.joinable:
        guard move(from: Self.joinable, to: Self.reaping) else { continue }
        system.join()
        stack?.giveBack()
        // releasing: see the load above.
        if word.exchange(Self.reaped, ordering: .releasing) == Self.watched {
          Futex.wakeAll(word)
        }
        return true
      case Self.reaping:
        _ = move(from: Self.reaping, to: Self.watched)
      default:
        _ = Futex.wait(word, while: Self.watched)
      }
    }
  }

  /// Detaches the thread if nobody has claimed it.
  borrowing func detach(_ system: SystemThread) {
    if move(from: Self.joinable, to: Self.detached) { system.detach() }
  }

  /// Notes that the thread is being started detached. relaxed, as in ``reset()``: the phase of the
  /// thread, which is `starting` now, keeps all others away from the word.
  borrowing func startDetached() { word.store(Self.detached, ordering: .relaxed) }

  /// Takes the note back when the start was refused.
  borrowing func reset() { word.store(Self.joinable, ordering: .relaxed) }

  /// relaxed: a claim orders nothing; what a claimant reads afterwards is ordered by the thread's
  /// phase and by the system's join.
  private borrowing func move(from old: UInt32, to new: UInt32) -> Bool {
    word.compareExchange(expected: old, desired: new, ordering: .relaxed).exchanged
  }
}
