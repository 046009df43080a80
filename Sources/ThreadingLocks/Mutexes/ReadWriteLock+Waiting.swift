public import CThreadingPlatform
public import Synchronization
public import ThreadingPlatform

/// Waiting for the lock, and leaving it to those that wait.
extension ReadWriteLock {
  @inlinable
  borrowing func holds(_ bit: UInt64) -> Bool {
    owner.load(ordering: .relaxed) == ctp_thread_id() && word.load(ordering: .relaxed) & bit != 0
  }

  @inlinable
  borrowing func leave(_ bit: UInt64, _ method: StaticString) {
    if !holds(bit) { stop(method, "the calling thread does not hold the lock in this way") }
    owner.store(0, ordering: .relaxed)
    var seen = word.load(ordering: .relaxed)
    while seen & Self.queued == 0 {
      // releasing: what we wrote is visible to the next holder.
      let (left, original) = word.weakCompareExchange(
        expected: seen, desired: seen & ~bit, ordering: .releasing)
      if left { return }
      seen = original
    }
    settleSlowly(leaving: bit)
  }

  static var spinNanoseconds: Int { 4_000 }

  /// Waits for the lock after the fast path has failed.
  @usableFromInline
  borrowing func lockSlowly(_ access: Access, until deadline: MonotonicInstant) -> Bool {
    if owner.load(ordering: .relaxed) == ctp_thread_id() {
      stop("lock", "the calling thread holds the lock already")
    }
    // A holder is about to leave, perhaps; once others wait, it is their turn.
    let isLate = deadline != .distantFuture && deadline <= .now
    var spin = Spin(for: isLate ? 0 : Self.spinNanoseconds)
    while word.load(ordering: .relaxed) & Self.queued == 0 && spin.pause() {
      if tryLock(access) { return true }
    }
    // So that no more readers pass while this thread waits.
    if access == .writing { turnOffStripes() }
    guard waitInQueue(access, until: deadline) else { return false }
    if access != .reading { owner.store(ctp_thread_id(), ordering: .relaxed) }
    return access == .writing ? drainStripesOrLeave(access, until: deadline) : true
  }

  private borrowing func tryLock(_ access: Access) -> Bool {
    switch access {
    case .reading: tryReadLock()
    case .writing: tryWriteLock()
    case .upgradableReading: tryUpgradableLock()
    case .upgrading: false
    }
  }

  borrowing func waitInQueue(_ access: Access, until deadline: MonotonicInstant) -> Bool {
    let waiter = Waiter(access)
    let granted = queue.withLock { queue in
      // relaxed: settle() does the acquiring; the lock of the queue orders the rest.
      word.bitwiseOr(Self.queued, ordering: .relaxed)
      if access == .upgrading { queue.prepend(waiter) } else { queue.append(waiter) }
      return settle(&queue)
    }
    granted.grantAll()
    if waiter.sleep(until: deadline) { return true }
    let others: GrantList<Access>? = queue.withLock { queue in
      guard queue.remove(waiter) else { return nil }
      return settle(&queue)
    }
    guard let others else { return true }
    others.grantAll()
    return false
  }

  /// Leaves a bit of the word, if any, and lets in those whose turn it is.
  @usableFromInline
  borrowing func settleSlowly(leaving bit: UInt64) {
    let granted = queue.withLock { queue in
      // releasing: what we wrote is visible to the next holder.
      word.bitwiseAnd(~bit, ordering: .releasing)
      return settle(&queue)
    }
    granted.grantAll()
  }

  /// Lets in waiters from the front of the queue, as far as they go together. The lock of the queue
  /// is held; holders may leave meanwhile.
  private borrowing func settle(_ queue: inout WaitQueue<Access>) -> GrantList<Access> {
    var granted = GrantList<Access>()
    while let first = queue.first {
      // acquiring, both: those let in see what former holders wrote; grant() hands it on to them.
      let seen = word.load(ordering: .acquiring)
      guard let next = Self.word(seen, letting: first.wanted) else { return granted }
      guard word.compareExchange(expected: seen, desired: next, ordering: .acquiring).exchanged
      else { continue }
      queue.remove(first)
      granted.append(first)
    }
    // relaxed: nothing is handed on by it.
    word.bitwiseAnd(~Self.queued, ordering: .relaxed)
    return granted
  }

  /// The word after letting a waiter in, or nil if it has to wait.
  private static func word(_ seen: UInt64, letting access: Access) -> UInt64? {
    let others = seen & holders & ~queued
    return switch access {
    case .reading: seen & writer == 0 ? seen + reader : nil
    case .upgradableReading: seen & (writer | upgradable) == 0 ? seen | upgradable : nil
    case .writing: others == 0 ? seen | writer : nil
    case .upgrading: others == upgradable ? seen - upgradable + writer : nil
    }
  }
}
