/// The steps of `ConditionVariable` with consumers that wait for tokens and producers that make
/// them. The mutex is taken as right, which its own model shows: taking it is one step.
struct ConditionModel: Model {
  /// A deviation from the real algorithm, to see that the exploration finds it.
  enum Fault: Hashable {
    case none
    /// The waiter counts itself after it has given the mutex back.
    case countsLate
    /// The waiter reads the sequence after it has given the mutex back.
    case readsLate
    /// The signaller wakes without moving the sequence on.
    case keepsTheSequence
    /// The signaller looks for sleepers before it moves the sequence on.
    case looksForSleepersFirst
    /// The waiter counts itself among the sleepers only once it sleeps no more.
    case sleepsUncounted
  }

  enum Step: Hashable {
    case lock, check, read, count, unlock, lateRead, lateCount, spin, sleep, asleep, wakeUp, relock
    case uncount
    case consume, produce, signalUnlock, look, move, lookForSleepers, wake, done
  }

  struct Thread: Hashable {
    var step = Step.lock
    var isProducer: Bool
    var rounds: Int
    /// Whether its waits may time out.
    var isTimed = false
    /// Whether the last wait has timed out.
    var gaveUp = false
    var seen = 0
    /// What a signaller has seen of the sleepers, by the fault of looking first.
    var sawSleepers = false
  }

  var fault: Fault
  /// Whether producers signal with the mutex held.
  var signalsInside: Bool
  var broadcasts: Bool
  var owner: Int?
  var tokens = 0
  var sequence = 0
  var waiting = 0
  var sleeping = 0
  var threads: [Thread]
  var sleepers: [Int] = []
  /// How many sleeps may still be ended by a signal handler: bounded, as in the mutex's model.
  var interruptions: Int

  init(
    consumers: [Int], producers: [Int], timed: Set<Int> = [], signalsInside: Bool = false,
    broadcasts: Bool = false, interruptions: Int = 0, fault: Fault = .none
  ) {
    self.fault = fault
    self.interruptions = interruptions
    self.signalsInside = signalsInside
    self.broadcasts = broadcasts
    threads =
      consumers.enumerated().map {
        Thread(isProducer: false, rounds: $1, isTimed: timed.contains($0))
      }
      + producers.map { Thread(isProducer: true, rounds: $0) }
  }

  var isEnd: Bool { threads.allSatisfy { $0.step == .done } }

  var brokenRule: String? {
    if tokens < 0 { return "a token was consumed twice" }
    if isEnd && (waiting != 0 || sleeping != 0) { return "waiters are miscounted" }
    return nil
  }

  func successors() -> [ConditionModel] {
    threads.indices.flatMap { steps(of: $0) }
  }

  private func steps(of index: Int) -> [ConditionModel] {
    var next = self
    let thread = threads[index]
    func advance(_ step: Step) -> [ConditionModel] {
      next.threads[index].step = step
      return [next]
    }
    switch thread.step {
    case .lock, .relock:
      guard owner == nil else { return [] }
      next.owner = index
      if thread.step == .relock { return advance(.uncount) }
      return advance(thread.isProducer ? .produce : .check)
    case .check:
      if tokens > 0 { return advance(.consume) }
      if thread.gaveUp {
        next.owner = nil
        next.endRound(index)
        return [next]
      }
      return advance(.read)
    case .read:
      next.threads[index].seen = sequence
      return advance(.count)
    case .count:
      if fault != .countsLate { next.waiting += 1 }
      return advance(.unlock)
    case .unlock:
      next.owner = nil
      switch fault {
      case .readsLate: return advance(.lateRead)
      case .countsLate: return advance(.lateCount)
      default: return advance(.spin)
      }
    case .lateRead:
      next.threads[index].seen = sequence
      return advance(.spin)
    case .lateCount:
      next.waiting += 1
      return advance(.spin)
    case .spin:
      // It may see the change, or have looked often enough before that.
      let seen = sequence == thread.seen ? [] : advance(.relock)
      if fault != .sleepsUncounted { next.sleeping += 1 }
      return seen + advance(.sleep)
    case .sleep:
      guard sequence == thread.seen else { return advance(.wakeUp) }
      next.sleepers.append(index)
      return advance(.asleep)
    case .asleep:
      next.sleepers.removeAll { $0 == index }
      var results: [ConditionModel] = []
      if interruptions > 0 {
        next.interruptions -= 1
        results += advance(.wakeUp)
        next.interruptions += 1
      }
      if thread.isTimed {
        next.threads[index].gaveUp = true
        results += advance(.wakeUp)
      }
      return results
    case .wakeUp:
      if fault != .sleepsUncounted { next.sleeping -= 1 }
      return advance(.relock)
    case .uncount:
      next.waiting -= 1
      return advance(.check)
    case .consume:
      next.tokens -= 1
      next.owner = nil
      next.endRound(index)
      return [next]
    case .produce:
      next.tokens += 1
      return advance(signalsInside ? .look : .signalUnlock)
    case .signalUnlock:
      next.owner = nil
      return advance(.look)
    case .look:
      if waiting == 0 {
        next.endSignal(index)
        return [next]
      }
      if fault == .looksForSleepersFirst { next.threads[index].sawSleepers = sleeping != 0 }
      return advance(.move)
    case .move:
      if fault != .keepsTheSequence { next.sequence += 1 }
      return advance(.lookForSleepers)
    case .lookForSleepers:
      if fault == .looksForSleepersFirst ? thread.sawSleepers : sleeping != 0 {
        return advance(.wake)
      }
      next.endSignal(index)
      return [next]
    case .wake:
      for sleeper in sleepers.prefix(broadcasts ? sleepers.count : 1) {
        next.threads[sleeper].step = .wakeUp
        next.sleepers.removeFirst()
      }
      next.endSignal(index)
      return [next]
    case .done:
      return []
    }
  }

  private mutating func endSignal(_ index: Int) {
    if signalsInside { owner = nil }
    endRound(index)
  }

  private mutating func endRound(_ index: Int) {
    threads[index].rounds -= 1
    threads[index].gaveUp = false
    threads[index].seen = 0
    threads[index].sawSleepers = false
    threads[index].step = threads[index].rounds == 0 ? .done : .lock
  }
}
