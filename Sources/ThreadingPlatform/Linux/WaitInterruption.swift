internal import CThreadingPlatform
public import Synchronization

/// Lets other threads end the waits of one thread, for good.
///
/// What can be ended is a wait that could time out: ``Futex/wait(_:while:until:)`` with the very
/// moment that ``begin(until:)`` has given, until ``end(_:)``. It then answers that the moment has come,
/// so whatever waits there leaves as it does when its time is up, and no lock knows of interruptions.
/// Waits without a limit, which the locks make on the way and which must not fail, and waits with
/// other limits, which a caller's closure may make in between, are not ended.
///
/// The word on which the thread sleeps does not change by the interruption, so a wake that comes
/// between the thread's last look and its sleep would be lost. Therefore the thread announces the word
/// before that look, and whoever interrupts wakes again and again until the thread has withdrawn the
/// announcement. In between the thread runs a few instructions of ``Futex`` and nothing else.
@usableFromInline
package final class WaitInterruption: Sendable {
  // State        | meaning                             | leaves by
  // 0 idle       | not asked; makes no such wait       | announce -> 1, ask -> 2
  // 1 announced  | not asked; `place` is where the     | withdraw -> 0, ask -> 3; finish wakes until
  //              | thread sleeps or will               | the word has changed
  // 3 waking     | asked; the thread may still sleep   | withdraw -> 2, and wakes the interrupter
  // 2 asked      | final; every such wait ends at once | never
  @usableFromInline package let word = Atomic<UInt32>(0)

  /// The address of the word that is slept on; means something while the state is `announced` or
  /// `waking`.
  private let place = Atomic<UInt>(0)

  @usableFromInline package static var announced: UInt32 { 1 }
  @usableFromInline package static var asked: UInt32 { 2 }
  private static var waking: UInt32 { 3 }

  package init() {}

  /// Whether ``ask()`` was called.
  @inlinable
  package var isAsked: Bool {
    // acquiring: pairs with the release in ask().
    word.load(ordering: .acquiring) & Self.asked != 0
  }

  // MARK: For the thread itself

  /// The calling thread's waits with one limit that can be ended, and what could be before.
  @safe package struct Turn {
    /// The limit to wait with: a nanosecond after the moment that was given, so that no wait which a
    /// caller's closure makes with that very moment is taken for it; or a moment that never comes, and
    /// yet is a limit.
    package let limit: MonotonicInstant
    fileprivate let outer: UnsafeMutableRawPointer?
    fileprivate let outerLimit: Int64
  }

  /// From here to ``end(_:)``, the calling thread's waits with the limit of the turn can be ended, and
  /// none of an outer turn.
  package func begin(until deadline: MonotonicInstant) -> Turn {
    let limit = MonotonicInstant(nanoseconds: min(deadline.nanoseconds, .max - 2) + 1)
    let turn = unsafe Turn(
      limit: limit, outer: ctp_get_wait_interruption(), outerLimit: ctp_get_wait_limit())
    unsafe ctp_set_wait_interruption(Unmanaged.passUnretained(self).toOpaque(), limit.nanoseconds)
    return turn
  }

  /// Ends what ``begin(until:)`` began on the calling thread, the turns in it first.
  package static func end(_ turn: Turn) {
    unsafe ctp_set_wait_interruption(turn.outer, turn.outerLimit)
  }

  /// Makes no wait of the calling thread one that can be ended, until the turn is over.
  package static func suspend() {
    ctp_set_wait_interruption(nil, 0)
  }

  /// Sleeps until interrupted or until a moment.
  ///
  /// - Returns: whether an interruption was asked for.
  package func sleep(until deadline: MonotonicInstant) -> Bool {
    let turn = begin(until: deadline)
    defer { Self.end(turn) }
    while !isAsked {
      // The wait announces this word itself, which makes it `announced`.
      if Futex.wait(word, while: Self.announced, until: turn.limit) == .timedOut { return isAsked }
    }
    return true
  }

  /// Announces that the thread is going to sleep on a word.
  ///
  /// - Returns: false when it was interrupted and must not.
  func announce(_ address: UInt) -> Bool {
    // relaxed: published by the release below.
    place.store(address, ordering: .relaxed)
    // releasing: pairs with the acquire in ask(), for `place`.
    return word.compareExchange(expected: 0, desired: Self.announced, ordering: .releasing)
      .exchanged
  }

  /// Takes the announcement back: the thread sleeps no more.
  func withdraw() {
    // relaxed: no data goes with it; what the sleep was about is acquired by whoever slept.
    let before = word.bitwiseAnd(~Self.announced, ordering: .relaxed).oldValue
    if before == Self.waking { Futex.wakeAll(word) }
  }

  // MARK: For any thread

  /// What is left to be done after ``ask()``.
  package struct Request: Sendable {
    fileprivate let hasSleeper: Bool
  }

  /// Asks that the wait that the thread makes, and all that it will make, end. For one caller at a
  /// time; ``finish(_:)`` must follow.
  package func ask() -> Request {
    // releasing: what was written before the request is visible to who sees it. acquiring: pairs with
    // the release in announce().
    let before = word.bitwiseOr(Self.asked, ordering: .acquiringAndReleasing).oldValue
    return Request(hasSleeper: before == Self.announced)
  }

  /// Wakes the thread. When this returns, it sleeps no more.
  package func finish(_ request: Request) {
    if request.hasSleeper { wakeUntilWithdrawn() }
  }

  private func wakeUntilWithdrawn() {
    // relaxed: written before the announcement, and not again once the request is there.
    let address = place.load(ordering: .relaxed)
    var pause = Duration.microseconds(50)
    while word.load(ordering: .relaxed) == Self.waking {
      // All: the others on that word look again and sleep on.
      Futex.wakeAll(at: address)
      // Mostly the thread is up at once. If it was not asleep yet, it may be by the time this is over.
      _ = Futex.sleep(word, while: Self.waking, until: .now.advanced(by: pause))
      pause = min(pause * 2, .milliseconds(1))
    }
  }
}
