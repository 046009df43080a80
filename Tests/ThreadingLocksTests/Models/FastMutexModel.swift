/// The steps of `FastMutex`, each atomic access and each system call being one.
struct FastMutexModel: Model {
  /// A deviation from the real algorithm, to see that the exploration finds it.
  enum Fault: Hashable {
    case none
    /// A thread that has slept takes the lock without the bit for waiters.
    case forgetsTheMark
    /// The bit is set without looking whether the lock has been given back meanwhile.
    case marksBlindly
    /// The owner wakes before it gives the lock back.
    case wakesFirst
  }

  enum Step: Hashable {
    case fastTry, load, look, take, mark, sleep, asleep, critical, unlock, wake, done
    case earlyWake, lateStore
  }

  struct Word: Hashable {
    var owner = 0
    var waiters = false
    static let free = Word()
  }

  struct Thread: Hashable {
    var step = Step.fastTry
    var rounds: Int
    /// Whether its waits may time out.
    var isTimed = false
    var seen = Word.free
    var mark = false
  }

  var fault = Fault.none
  var word = Word.free
  var threads: [Thread]
  /// Threads that sleep on the word, oldest first, by number from 1.
  var sleepers: [Int] = []
  /// How many sleeps may still be ended by a signal handler. Bounded, since a wake that came of
  /// itself for ever would hide a lost one.
  var interruptions: Int

  init(
    rounds: [Int], timed: Set<Int> = [], interruptions: Int = 0, fault: Fault = .none
  ) {
    self.fault = fault
    self.interruptions = interruptions
    threads = rounds.enumerated().map { Thread(rounds: $1, isTimed: timed.contains($0)) }
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
      guard word == .free else { return advance(.load) }
      next.word.owner = me
      return advance(.critical)
    case .load:
      next.threads[index].seen = word
      return advance(.look)
    case .look:
      if thread.seen.owner == 0 { return advance(.take) }
      if thread.seen.waiters { return advance(.sleep) }
      // It may spin once more, or have spun enough.
      return advance(.load) + advance(.mark)
    case .take:
      guard word == .free else {
        next.threads[index].seen = word
        return advance(.look)
      }
      next.word = Word(owner: me, waiters: thread.mark)
      return advance(.critical)
    case .mark:
      if fault == .marksBlindly {
        next.word.waiters = true
        next.threads[index].seen = next.word
        return advance(.sleep)
      }
      guard word == thread.seen else {
        next.threads[index].seen = word
        return advance(.look)
      }
      next.word.waiters = true
      next.threads[index].seen.waiters = true
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
      if thread.isTimed {
        var left = next
        left.endRound(index)
        results.append(left)
      }
      return results
    case .critical:
      return advance(fault == .wakesFirst ? .earlyWake : .unlock)
    case .unlock:
      let contended = word.waiters
      next.word = .free
      if contended { return advance(.wake) }
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

  private mutating func wakeOne() {
    guard let first = sleepers.first else { return }
    sleepers.removeFirst()
    self = wakeUp(first - 1)[0]
  }

  private func wakeUp(_ index: Int) -> [FastMutexModel] {
    var next = self
    next.threads[index].mark = fault != .forgetsTheMark
    next.threads[index].step = .load
    return [next]
  }

  private mutating func endRound(_ index: Int) {
    var fresh = Thread(rounds: threads[index].rounds - 1, isTimed: threads[index].isTimed)
    if fresh.rounds == 0 { fresh.step = .done }
    threads[index] = fresh
  }
}
