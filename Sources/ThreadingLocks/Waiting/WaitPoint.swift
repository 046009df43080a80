public import Synchronization
public import ThreadingPlatform

/// Where threads wait for a change of an atomic value that lives elsewhere.
///
/// A waiter announces itself, then looks at the value; a notifier changes the value, then looks for
/// waiters. Both looks follow a read-modify-write of `waiting`, and of these two one comes first:
/// if the waiter's, the notifier sees it; if the notifier's, the waiter reads from it and so sees
/// the change.
@usableFromInline
struct WaitPoint: ~Copyable, Sendable {
  /// Threads that wait or are about to.
  @usableFromInline let waiting = Atomic<UInt32>(0)
  /// Moved on by each notification that finds a waiter; waiters sleep while it stands still.
  private let epoch = Atomic<UInt32>(0)

  @inlinable
  init() {}

  @inlinable
  deinit {
    // relaxed: whoever destroys it has exclusive access to it.
    if waiting.load(ordering: .relaxed) != 0 { stopDestroying() }
  }

  /// Sleeps until `isOver` or a moment has come.
  ///
  /// - Returns: What `isOver` said last.
  @usableFromInline
  borrowing func wait(until deadline: MonotonicInstant, _ isOver: () -> Bool) -> Bool {
    // sequentially consistent: pairs with the same in notify(); see above.
    waiting.wrappingAdd(1, ordering: .sequentiallyConsistent)
    // relaxed: only says that one less waits.
    defer { waiting.wrappingSubtract(1, ordering: .relaxed) }
    while true {
      // acquiring: pairs with the release in wake(), so that a waiter that sees the new epoch sees
      // the change; and keeps the look at the value after this one.
      let seen = epoch.load(ordering: .acquiring)
      if isOver() { return true }
      if Futex.wait(epoch, while: seen, until: deadline) == .timedOut { return isOver() }
    }
  }

  /// Wakes threads that wait, if any. Costs one atomic step when nobody does.
  @inlinable
  borrowing func notify(_ count: CInt) {
    // sequentially consistent: pairs with the same in wait(). Adding nothing, rather than loading,
    // makes it a step that the waiter's can read from.
    if waiting.wrappingAdd(0, ordering: .sequentiallyConsistent).oldValue != 0 { wake(count) }
  }

  @usableFromInline
  borrowing func stopDestroying() -> Never {
    Misuse.stopDestroying(
      "An atomic value", awaitedByCount: Int(waiting.load(ordering: .relaxed)))
  }

  @usableFromInline
  borrowing func wake(_ count: CInt) {
    // releasing: pairs with the acquire in wait().
    epoch.wrappingAdd(1, ordering: .releasing)
    Futex.wake(epoch, count: count)
  }
}
