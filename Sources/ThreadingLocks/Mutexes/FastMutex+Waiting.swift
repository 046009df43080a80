internal import CThreadingPlatform
internal import Synchronization
public import ThreadingPlatform

/// What happens when the lock is not simply free: see the state table of ``FastMutex``.
extension FastMutex {
  /// How a thread spins: for some 10 us, less than a sleep and its wake take on two processors, with
  /// pauses of 0.75 us and more. It does not look earlier, since a look makes the owner wait for the
  /// word's cache line: with short critical sections, threads that look all the time hand the lock to
  /// each other at up to twice the cost of taking it some ten times in a row. Longer pauses would suit
  /// the shortest sections even better, and cost those of half a microsecond more than they gain.
  private static func spin(until deadline: MonotonicInstant) -> Spin {
    let isOver = deadline != .distantFuture && deadline <= .now
    return Spin(for: isOver ? 0 : 10_000, pausing: 750, upTo: 3_000)
  }

  /// How long a thread may wait before those that sleep go first. With less, threads that are many
  /// would hand the lock over all the time, each at the cost of a wake.
  private static var longestWait: Duration { .milliseconds(1) }

  /// How long a thread sleeps at most without looking whether it has waited for too long. Those that
  /// run may take the lock again and again, and it be woken only after others that sleep: each of
  /// which waits for a processor that those who run do not leave.
  private static var longestSleep: Duration { .milliseconds(4) }

  /// How long a thread that comes anew leaves a lock alone that is kept for others: longer than they
  /// take to wake up.
  private static var politeness: Duration { .microseconds(100) }

  /// Takes the lock after the fast path has failed.
  ///
  /// - Parameters:
  ///   - me: The calling thread.
  ///   - deadline: When to give up.
  ///   - spins: Whether to spin at all: not for one that has just been woken by the lock's owner,
  ///     which on one processor waits to run again.
  /// - Returns: Whether the lock was taken.
  @usableFromInline
  @discardableResult
  borrowing func lockSlowly(
    _ me: UInt32, until deadline: MonotonicInstant, spins: Bool = true
  ) -> Bool {
    var seen = word.load(ordering: .relaxed)
    if seen & Self.owner == me { stopRelocking(me) }
    var spin = spins ? Self.spin(until: deadline) : Spin(for: 0)
    var beganToSleep: MonotonicInstant?
    // The bits that this thread leaves in the word: others may still be sleeping.
    var mark: UInt32 = 0
    while true {
      if seen == 0 || (seen & Self.owner == 0 && mark != 0) {
        // acquiring: pairs with the release in unlock(). A lock that was kept stays overdue only for
        // one that is overdue itself: those behind it have mostly waited for less. Where somebody who came
        // later was first, they are woken in their turn, as the oldest.
        let (taken, original) = word.compareExchange(
          expected: seen, desired: me | (mark & ~Self.overdue) | (mark & seen), ordering: .acquiring
        )
        if taken { return true }
        seen = original
        continue
      }
      if seen & Self.waiters == 0 && spin.pause() {
        seen = word.load(ordering: .relaxed)
        continue
      }
      let wanted = seen | Self.waiters | mark
      if seen != wanted {
        // relaxed: the bits only ask the owner for a wake; no data goes with them.
        let (marked, original) = word.compareExchange(
          expected: seen, desired: wanted, ordering: .relaxed)
        guard marked else {
          seen = original
          continue
        }
        seen = wanted
      }
      let start: MonotonicInstant = beganToSleep ?? .now
      beganToSleep = start
      let isOverdue = mark & Self.overdue != 0
      let pause: MonotonicInstant =
        seen & Self.owner == 0
        ? .now.advanced(by: Self.politeness)
        : isOverdue ? .distantFuture : start.advanced(by: Self.longestSleep)
      // A wait that timed out was not woken, so no wake is lost by leaving; the bits stay behind. So
      // they may when others have left: a lock that is kept for nobody is free.
      if Futex.wait(
        word, while: seen, until: deadline, lookingAgainAt: pause,
        as: isOverdue ? .urgent : .ordinary) == .timedOut
      {
        return tryLock()
      }
      mark = Self.waiters
      if start.duration(to: .now) > Self.longestWait { mark |= Self.overdue }
      seen = word.load(ordering: .relaxed)
    }
  }

  /// Takes the lock back after a sleep on something else.
  borrowing func lockAfterSleep() {
    if !takeIfFree() { lockSlowly(ctp_thread_id(), until: .distantFuture, spins: false) }
  }

  /// Takes a lock that is kept for threads that sleep: nobody holds it.
  @usableFromInline
  borrowing func takeIfKept() -> Bool {
    let kept = Self.waiters | Self.overdue
    // acquiring: pairs with the release in unlock(). The bits stay: those that it was kept for are
    // still there.
    return word.compareExchange(
      expected: kept, desired: kept | ctp_thread_id(), ordering: .acquiring
    ).exchanged
  }

  @usableFromInline
  borrowing func unlockSlowly(_ me: UInt32) {
    let seen = word.load(ordering: .relaxed)
    guard seen & Self.owner == me else { stopForeignUnlock(seen & Self.owner, me) }
    // Held by us with `waiters` set: all that others can do to the word is to set `overdue`.
    // releasing, both: as in unlock(). After either, others may take the lock and end it, so the word
    // is not touched again, but for the kernel's knowing it by its address.
    if seen & Self.overdue != 0
      || !word.compareExchange(expected: seen, desired: 0, ordering: .releasing).exchanged
    {
      word.store(Self.waiters | Self.overdue, ordering: .releasing)
      // Those that have waited for too long are behind others that have not, if they were woken once
      // and found the lock taken again.
      if Futex.wake(word, count: 1, of: .urgent) > 0 { return }
    }
    Futex.wake(word, count: 1)
  }

  private borrowing func stopRelocking(_ me: UInt32) -> Never {
    fatalError(
      "FastMutex.lock: the lock at \(address) is already held by the calling thread, "
        + Misuse.holder(me))
  }

  private borrowing func stopForeignUnlock(_ owner: UInt32, _ me: UInt32) -> Never {
    fatalError(
      "FastMutex.unlock: the lock at \(address) is held by \(Misuse.holder(owner)), "
        + "and was unlocked by \(Misuse.holder(me))")
  }

  @usableFromInline
  borrowing func stopDestroying(_ last: UInt32) -> Never {
    fatalError(
      "FastMutex: a lock was destroyed while held by \(Misuse.holder(last & Self.owner)), "
        + "at \(address), by \(Misuse.caller)")
  }

  /// The thread that holds the lock at this moment: for messages.
  var ownerDescription: String { Misuse.holder(word.load(ordering: .relaxed) & Self.owner) }

  var address: String { Futex.hexAddress(of: word) }
}
