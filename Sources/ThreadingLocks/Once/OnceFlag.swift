internal import CThreadingPlatform
public import Synchronization
internal import ThreadingPlatform

/// Sees to it that something is done once, whichever of many threads comes first.
///
/// The first thread does it; those that come meanwhile wait until it is done. If it fails with an
/// error, the error goes to the thread that tried, and the next one tries.
///
/// For a value that is made at first use, see ``LazyValue``.
///
/// What another thread was doing at a `fork` is never done in the child, which has no such thread: there
/// those that come wait for ever.
///
/// - Note: Safe to use from any thread. What the body did happens before any ``runOnce(_:)``
///   returns.
public struct OnceFlag: ~Copyable, Sendable {
  // State        | meaning                        | leaves by
  // 0            | not done                       | first caller -> its thread id
  // id           | being done by that thread      | the same: success -> done, error -> 0;
  //              |                                | one that waits -> id + waiters
  // id + waiters | the same, a thread may sleep   | as above, and wakes all
  // done         | final                          | never
  @usableFromInline let word = Atomic<UInt32>(0)

  @inlinable static var done: UInt32 { .max }
  private static var waiters: UInt32 { 1 << 31 }

  /// A flag for something not done yet.
  @inlinable
  public init() {}

  @inlinable
  deinit {
    // relaxed: whoever destroys the flag has exclusive access to it.
    let last = word.load(ordering: .relaxed)
    if last != 0 && last != Self.done { stopDestroying(last) }
  }

  /// Whether it has been done. Once true, always true.
  @inlinable
  public var isDone: Bool {
    // acquiring: pairs with the release at the end of the body.
    word.load(ordering: .acquiring) == Self.done
  }

  /// Runs `body` unless that has been done; waits for it if another thread is at it.
  ///
  /// Costs one load when it has been done.
  ///
  /// - Returns: Whether this call ran `body`.
  /// - Throws: What `body` throws; it counts as not done then.
  /// - Precondition: `body` does not use the same flag. If it does, the program stops.
  @discardableResult
  @inlinable
  public borrowing func runOnce<Failure: Error>(
    _ body: () throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    if isDone { return false }
    guard begin() else { return false }
    do {
      try body()
    } catch {
      end(with: 0)
      throw error
    }
    end(with: Self.done)
    return true
  }

  /// - Returns: Whether it is for the caller to do it; if not, it has been done.
  @usableFromInline
  borrowing func begin() -> Bool {
    let me = ctp_thread_id()
    var seen = word.load(ordering: .acquiring)
    while true {
      if seen == Self.done { return false }
      if seen == 0 {
        // acquiring: what a failed attempt did is visible to the next one.
        let (begun, original) = word.compareExchange(
          expected: 0, desired: me, ordering: .acquiring)
        if begun { return true }
        seen = original
        continue
      }
      if seen & ~Self.waiters == me {
        fatalError(
          "OnceFlag.runOnce: called by its own body, on \(Misuse.holder(me))")
      }
      let marked = seen | Self.waiters
      if seen != marked {
        let (done, original) = word.compareExchange(
          expected: seen, desired: marked, ordering: .acquiring)
        guard done else {
          seen = original
          continue
        }
      }
      _ = Futex.wait(word, while: marked)
      // acquiring: pairs with the release in end().
      seen = word.load(ordering: .acquiring)
    }
  }

  @usableFromInline
  borrowing func stopDestroying(_ last: UInt32) -> Never {
    fatalError(
      "OnceFlag: destroyed while \(Misuse.holder(last & ~Self.waiters)) runs its body, at "
        + "\(Futex.hexAddress(of: word)), by \(Misuse.caller)")
  }

  @usableFromInline
  borrowing func end(with state: UInt32) {
    // releasing: what the body did is visible to whoever finds the flag in this state.
    let before = word.exchange(state, ordering: .releasing)
    if before & Self.waiters != 0 { Futex.wakeAll(word) }
  }
}
