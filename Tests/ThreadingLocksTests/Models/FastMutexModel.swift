/// The steps of `FastMutex`, each atomic access and each system call being one.
struct FastMutexModel: Model {
  /// A deviation from the real algorithm, to see that the exploration finds it.
  enum Fault: Hashable {
    case none
    /// A thread that has slept takes the lock without the bit for waiters.
    case forgetsTheMark
    /// The word is written back with the bit, without looking whether it has changed meanwhile.
    case marksBlindly
    /// The owner wakes before it gives the lock back.
    case wakesFirst
    /// A thread that comes anew sleeps without a limit when the lock is kept for others.
    case waitsForTheKept
    /// The lock is kept for threads that have waited for too long, and nobody else is woken.
    case wakesOnlyTheOverdue
  }

  enum Step: Hashable {
    case fastTry, load, look, take, mark, sleep, asleep, critical, unlock, wakeOverdue, wake
    case lastTry, done
    case awake, earlyWake, lateStore
  }

  struct Word: Hashable {
    var owner = 0
    var waiters = false
    var overdue = false
    static let free = Word()
  }

  struct Thread: Hashable {
    var step = Step.fastTry
    var rounds: Int
    /// Whether its waits may time out.
    var isTimed = false
    /// Whether it only tries.
    var isTrying = false
    var seen = Word.free
    /// Whether it has slept, and whether it has waited for too long.
    var mark = false
    var isOverdue = false
  }

  var fault = Fault.none
  var word = Word.free
  var threads: [Thread]
  /// Threads that sleep on the word, oldest first, by number from 1.
  var sleepers: [Int] = []
  /// How many sleeps may still be ended by a signal handler. Bounded, since a wake that came of
  /// itself for ever would hide a lost one.
  var interruptions: Int
  /// How often a thread may still find that it has waited for too long.
  var delays: Int

  init(
    rounds: [Int], timed: Set<Int> = [], trying: Set<Int> = [], interruptions: Int = 0,
    delays: Int = 0, fault: Fault = .none
  ) {
    self.fault = fault
    self.interruptions = interruptions
    self.delays = delays
    threads = rounds.enumerated().map {
      Thread(rounds: $1, isTimed: timed.contains($0), isTrying: trying.contains($0))
    }
  }

  var isEnd: Bool { threads.allSatisfy { $0.step == .done } }

  var brokenRule: String? {
    let inside = threads.filter { $0.step == .critical }.count
    if inside > 1 { return "two threads inside" }
    if isEnd && word.owner != 0 { return "held by nobody" }
    return nil
  }

  func successors() -> [FastMutexModel] {
    threads.indices.flatMap { steps(of: $0) }
  }

  private func steps(of index: Int) -> [FastMutexModel] {
    var next = self
    let me = index + 1
    let thread = threads[index]
    func advance(_ step: Step) -> [FastMutexModel] {
      next.threads[index].step = step
      return [next]
    }
    switch thread.step {
    case .fastTry:
      if thread.isTrying && word.owner != 0 {
        next.endRound(index)
        return [next]
      }
      guard word == .free || thread.isTrying else { return advance(.load) }
      next.word.owner = me
      return advance(.critical)
    case .load:
      next.threads[index].seen = word
      return advance(.look)
    case .look:
      if thread.seen == .free || (thread.seen.owner == 0 && thread.mark) { return advance(.take) }
      if thread.seen.waiters {
        return advance(thread.isOverdue && !thread.seen.overdue ? .mark : .sleep)
      }
      // It may spin once more, or have spun enough.
      return advance(.load) + advance(.mark)
    case .take:
      guard word == thread.seen else {
        next.threads[index].seen = word
        return advance(.look)
      }
      next.word = Word(
        owner: me, waiters: thread.mark, overdue: word.overdue && thread.isOverdue)
      return advance(.critical)
    case .mark:
      if fault == .marksBlindly {
        next.word = thread.seen
        next.word.waiters = true
        next.threads[index].seen = next.word
        return advance(.sleep)
      }
      guard word == thread.seen else {
        next.threads[index].seen = word
        return advance(.look)
      }
      next.word.waiters = true
      next.word.overdue = word.overdue || thread.isOverdue
      next.threads[index].seen = next.word
      return advance(.sleep)
    case .sleep:
      guard word == thread.seen else { return next.wakeUp(index) }
      next.sleepers.append(me)
      return advance(.asleep)
    case .asleep:
      next.sleepers.removeAll { $0 == me }
      var results: [FastMutexModel] = []
      if interruptions > 0 {
        var interrupted = next
        interrupted.interruptions -= 1
        results += interrupted.wakeUp(index)
      }
      if thread.seen.owner == 0 && fault != .waitsForTheKept { results += next.wakeUp(index) }
      if delays > 0 && !thread.isOverdue {
        // It looks by itself whether it has waited for too long.
        var late = next
        late.delays -= 1
        late.threads[index].isOverdue = true
        late.threads[index].mark = fault != .forgetsTheMark
        late.threads[index].step = .load
        results.append(late)
      }
      if thread.isTimed {
        var left = next
        left.threads[index].step = .lastTry
        results.append(left)
      }
      return results
    case .lastTry:
      guard word.owner == 0 else {
        next.endRound(index)
        return [next]
      }
      next.word.owner = me
      return advance(.critical)
    case .awake:
      var late = next
      late.delays -= 1
      late.threads[index].isOverdue = true
      late.threads[index].step = .load
      return advance(.load) + (delays > 0 ? [late] : [])
    case .critical:
      return advance(fault == .wakesFirst ? .earlyWake : .unlock)
    case .unlock:
      let contended = word.waiters
      next.word = word.overdue ? Word(waiters: true, overdue: true) : .free
      if contended { return advance(word.overdue ? .wakeOverdue : .wake) }
      next.endRound(index)
      return [next]
    case .wakeOverdue:
      let isThere = sleepers.contains { threads[$0 - 1].isOverdue }
      guard isThere || fault == .wakesOnlyTheOverdue else { return advance(.wake) }
      next.wakeOne { threads[$0 - 1].isOverdue }
      next.endRound(index)
      return [next]
    case .wake:
      next.wakeOne()
      next.endRound(index)
      return [next]
    case .earlyWake:
      if word.waiters { next.wakeOne() }
      return advance(.lateStore)
    case .lateStore:
      next.word = .free
      next.endRound(index)
      return [next]
    case .done:
      return []
    }
  }

  private mutating func wakeOne(where isMeant: (Int) -> Bool = { _ in true }) {
    guard let place = sleepers.firstIndex(where: isMeant) else { return }
    let first = sleepers.remove(at: place)
    // That it may also find itself overdue is a step of its own, so that a wake leads to one state.
    threads[first - 1].mark = fault != .forgetsTheMark
    threads[first - 1].step = delays > 0 ? .awake : .load
  }

  private func wakeUp(_ index: Int) -> [FastMutexModel] {
    var next = self
    next.threads[index].mark = fault != .forgetsTheMark
    next.threads[index].step = delays > 0 ? .awake : .load
    return [next]
  }

  private mutating func endRound(_ index: Int) {
    var fresh = Thread(
      rounds: threads[index].rounds - 1, isTimed: threads[index].isTimed,
      isTrying: threads[index].isTrying)
    if fresh.rounds == 0 { fresh.step = .done }
    threads[index] = fresh
  }
}
