/// The steps of `ReadWriteLock`. Each thread takes the lock once, in its way, and gives it back.
/// The lock of the queue is taken as right, which its own model shows: taking it is one step.
struct ReadWriteLockModel: Model {
  /// A deviation from the real algorithm, to see that the exploration finds it.
  enum Fault: Hashable {
    case none
    /// The last reader leaves without letting others in.
    case readersLeaveSilently
    /// One that begins to wait does not look again after it has set the bit.
    case waitsWithoutLooking
    /// One that gives up leaves the bit and those behind it as they are.
    case leavesWithoutSettling
    /// The word is changed without looking whether it is still as it was.
    case settlesBlindly
  }

  enum Access: Hashable { case reading, upgradable, writing, upgrading }

  enum Step: Hashable {
    case fastTry, lockToWait, append, settleLook, settleChange, settleEnd, grant
    case sleep, asleep, lockToLeave, leave
    case held, unlock, lockToUnlock, clear, done
  }

  struct Word: Hashable {
    var readers = 0
    var upgradable = false
    var writer = false
    var queued = false
  }

  struct Thread: Hashable {
    var step = Step.fastTry
    var access: Access
    /// Goes on from upgradable reading to writing.
    var upgrades = false
    var isTimed = false
    /// Never gives the lock back.
    var keeps = false
    var seen = Word()
    var isGranted = false
    var isQueued = false
    /// Each wait has an object of its own, which a late grant reaches even when the thread is gone.
    var wait = 0
    var toGrant: [Grant] = []
    /// What follows once the queue has been settled.
    var after = Step.sleep
  }

  struct Grant: Hashable {
    let thread: Int
    let wait: Int
  }

  var fault: Fault
  var word = Word()
  var owner: Int?
  var queue: [Int] = []
  var threads: [Thread]

  init(
    _ accesses: [Access], upgrading: Set<Int> = [], timed: Set<Int> = [],
    keeping: Set<Int> = [], fault: Fault = .none
  ) {
    self.fault = fault
    threads = accesses.enumerated().map {
      Thread(
        access: $1, upgrades: upgrading.contains($0), isTimed: timed.contains($0),
        keeps: keeping.contains($0))
    }
  }

  var isEnd: Bool {
    threads.allSatisfy { $0.step == .done || ($0.keeps && $0.step == .held) }
  }

  var brokenRule: String? {
    let held = threads.filter { $0.step == .held }
    let writers = held.filter { $0.access == .writing || $0.access == .upgrading }.count
    if writers > 1 || (writers == 1 && held.count > 1) { return "a writer is not alone" }
    if held.filter({ $0.access == .upgradable }).count > 1 { return "two upgradable readers" }
    if isEnd && held.isEmpty && word != Word() { return "the lock is not free at the end" }
    return nil
  }

  func successors() -> [ReadWriteLockModel] {
    threads.indices.flatMap { steps(of: $0) }
  }

  private func letting(_ access: Access) -> Word? {
    var next = word
    switch access {
    case .reading:
      if word.writer { return nil }
      next.readers += 1
    case .upgradable:
      if word.writer || word.upgradable { return nil }
      next.upgradable = true
    case .writing:
      if word.writer || word.upgradable || word.readers > 0 { return nil }
      next.writer = true
    case .upgrading:
      if word.readers > 0 { return nil }
      next.upgradable = false
      next.writer = true
    }
    return next
  }

  private func steps(of index: Int) -> [ReadWriteLockModel] {
    var next = self
    let thread = threads[index]
    func advance(_ step: Step) -> [ReadWriteLockModel] {
      next.threads[index].step = step
      return [next]
    }
    switch thread.step {
    case .fastTry:
      guard !word.queued, let taken = letting(thread.access) else { return advance(.lockToWait) }
      next.word = taken
      return advance(.held)
    case .lockToWait:
      guard owner == nil else { return [] }
      next.owner = index
      next.word.queued = true
      return advance(.append)
    case .append:
      if thread.access == .upgrading {
        next.queue.insert(index, at: 0)
      } else {
        next.queue.append(index)
      }
      next.threads[index].isQueued = true
      next.threads[index].after = .sleep
      guard fault != .waitsWithoutLooking else {
        next.owner = nil
        return advance(.sleep)
      }
      return advance(.settleLook)
    case .settleLook:
      guard let first = queue.first else { return advance(.settleEnd) }
      next.threads[index].seen = word
      guard letting(threads[first].access) != nil else {
        next.owner = nil
        return advance(.grant)
      }
      return advance(.settleChange)
    case .settleChange:
      guard let first = queue.first else { return [] }
      if fault == .settlesBlindly {
        let now = next.word
        next.word = thread.seen
        next.word = next.letting(threads[first].access) ?? now
      } else {
        guard word == thread.seen, let changed = letting(threads[first].access) else {
          return advance(.settleLook)
        }
        next.word = changed
      }
      next.queue.removeFirst()
      next.threads[first].isQueued = false
      next.threads[index].toGrant.append(Grant(thread: first, wait: threads[first].wait))
      return advance(.settleLook)
    case .settleEnd:
      next.word.queued = false
      next.owner = nil
      return advance(.grant)
    case .grant:
      guard let first = thread.toGrant.first else { return advance(thread.after) }
      next.threads[index].toGrant.removeFirst()
      if threads[first.thread].wait == first.wait { next.threads[first.thread].isGranted = true }
      return [next]
    case .sleep:
      return advance(thread.isGranted ? .held : .asleep)
    case .asleep:
      var results: [ReadWriteLockModel] = []
      if thread.isGranted { results += advance(.held) }
      if thread.isTimed { results += advance(.lockToLeave) }
      return results
    case .lockToLeave:
      guard owner == nil else { return [] }
      next.owner = index
      return advance(.leave)
    case .leave:
      guard thread.isQueued else {
        next.owner = nil
        return advance(.held)
      }
      next.queue.removeAll { $0 == index }
      next.threads[index].isQueued = false
      // An upgrade that is given up leaves the thread with what it had.
      if thread.access == .upgrading {
        next.threads[index].access = .upgradable
        next.threads[index].upgrades = false
        next.threads[index].after = .held
      } else {
        next.threads[index].after = .done
      }
      if fault == .leavesWithoutSettling {
        next.owner = nil
        return advance(next.threads[index].after)
      }
      return advance(.settleLook)
    case .held:
      if thread.keeps { return [] }
      guard thread.upgrades, thread.access == .upgradable else { return advance(.unlock) }
      next.threads[index].access = .upgrading
      next.threads[index].isGranted = false
      next.threads[index].wait += 1
      if !word.queued && word.readers == 0 {
        next.word.upgradable = false
        next.word.writer = true
        return advance(.held)
      }
      return advance(.lockToWait)
    case .unlock:
      next.threads[index].after = .done
      if thread.access == .reading {
        next.word.readers -= 1
        let mustSettle = word.queued && word.readers == 1 && fault != .readersLeaveSilently
        return advance(mustSettle ? .lockToUnlock : .done)
      }
      guard !word.queued else { return advance(.lockToUnlock) }
      next.word.writer = false
      next.word.upgradable = false
      return advance(.done)
    case .lockToUnlock:
      guard owner == nil else { return [] }
      next.owner = index
      return advance(.clear)
    case .clear:
      if thread.access != .reading {
        next.word.writer = false
        next.word.upgradable = false
      }
      return advance(.settleLook)
    case .done:
      return []
    }
  }
}
