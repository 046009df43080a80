internal import Synchronization
internal import ThreadingPlatform

/// A thread's ``ThreadState`` in a word that threads can wait on.
struct ThreadPhase: ~Copyable, Sendable {
  // Low bits | meaning     | leaves by
  // 0        | notStarted  | start() -> starting
  // 1        | starting    | starter or new thread -> running; refused start -> notStarted
  // 2        | running     | the thread's end -> finished
  // 3        | finished    | never
  //
  // Bit 2 (watched) says that a thread may be sleeping on the word. Whoever changes the state clears
  // the bit and then wakes all.
  private let word: Atomic<UInt32>

  private static var watched: UInt32 { 4 }

  init(_ state: ThreadState) {
    word = Atomic(Self.encode(state))
  }

  /// Acquiring: pairs with the release in ``move(from:to:)``, so what was written before a state was
  /// entered is visible to whoever sees the state.
  var state: ThreadState { Self.decode(word.load(ordering: .acquiring)) }

  /// Changes the state if it is `old`, and wakes those that wait.
  ///
  /// - Returns: whether the state was `old`.
  @discardableResult
  borrowing func move(from old: ThreadState, to new: ThreadState) -> Bool {
    var seen = word.load(ordering: .relaxed)
    while Self.decode(seen) == old {
      // releasing: publishes what was written before the state is entered. acquiring: the one who
      // starts again after a refused start sees what the first starter left.
      let (moved, original) = word.compareExchange(
        expected: seen, desired: Self.encode(new), ordering: .acquiringAndReleasing)
      if moved {
        if seen & Self.watched != 0 { Futex.wakeAll(word) }
        return true
      }
      seen = original
    }
    return false
  }

  /// Sleeps while the state is one of those that `isPassing` picks, at most until a moment.
  ///
  /// - Returns: the state that ended the wait, or the one that stands when the moment has come.
  borrowing func wait(
    until deadline: MonotonicInstant, while isPassing: (ThreadState) -> Bool
  ) -> ThreadState {
    while true {
      // acquiring: as in `state`.
      var seen = word.load(ordering: .acquiring)
      if !isPassing(Self.decode(seen)) { return Self.decode(seen) }
      if seen & Self.watched == 0 {
        // relaxed: the bit only asks for a wake; no data goes with it.
        guard
          word.compareExchange(
            expected: seen, desired: seen | Self.watched, ordering: .relaxed
          ).exchanged
        else { continue }
        seen |= Self.watched
      }
      if Futex.wait(word, while: seen, until: deadline) == .timedOut { return state }
    }
  }

  private static func encode(_ state: ThreadState) -> UInt32 {
    switch state {
    case .notStarted: 0
    case .starting: 1
    case .running: 2
    case .finished: 3
    }
  }

  private static func decode(_ word: UInt32) -> ThreadState {
    switch word & 3 {
    case 0: .notStarted
    case 1: .starting
    case 2: .running
    default: .finished
    }
  }
}
