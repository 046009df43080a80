/// The steps of `CountingSemaphore`: each thread takes some permits and gives as many back, or
/// keeps them. The lock of the queue is taken as right, which its own model shows: taking it is one
/// step.
struct SemaphoreModel: Model {
  /// A deviation from the real algorithm, to see that the exploration finds it.
  enum Fault: Hashable {
    case none
    /// One that gives up does not serve those behind it.
    case leavesWithoutSettling
    /// The bit is set without looking whether permits have come meanwhile.
    case marksBlindly
    /// One that gives up does not look whether it has been served meanwhile.
    case givesUpBlindly
    /// The granter does not wake.
    case forgetsTheWake
  }

  enum Step: Hashable {
    case fastTry, lockToWait, tryAgain, look, mark, append, sleep, asleep
    case lockToLeave, leave, held, release, lockToRelease, releaseLook, settle, grant, done
  }

  enum Grant: Hashable { case awake, asleep, granted }

  struct Thread: Hashable {
    var step = Step.fastTry
    var wants: Int
    var isTimed = false
    var keeps = false
    var seen = Word()
    var grant = Grant.awake
    var isQueued = false
    /// What it does after it has told those whom it served.
    var hasLeft = false
    var toGrant: [Int] = []
  }

  struct Word: Hashable {
    var permits = 0
    var queued = false
  }

  var fault: Fault
  let total: Int
  var word: Word
  var owner: Int?
  var queue: [Int] = []
  var threads: [Thread]

  init(
    permits: Int, wants: [Int], timed: Set<Int> = [], keeping: Set<Int> = [], fault: Fault = .none
  ) {
    self.fault = fault
    total = permits
    word = Word(permits: permits)
    threads = wants.enumerated().map {
      Thread(wants: $1, isTimed: timed.contains($0), keeps: keeping.contains($0))
    }
  }

  var isEnd: Bool {
    threads.allSatisfy { $0.step == .done || ($0.keeps && $0.step == .held) }
  }

  var brokenRule: String? {
    let held = threads.filter { $0.step == .held }.reduce(0) { $0 + $1.wants }
    if held > total { return "more permits held than there are" }
    if isEnd && word != Word(permits: total - held) { return "permits or the bit are left over" }
    if owner == nil && word.queued == queue.isEmpty { return "the bit and the queue disagree" }
    return nil
  }

  func successors() -> [SemaphoreModel] {
    threads.indices.flatMap { steps(of: $0) }
  }

  private func steps(of index: Int) -> [SemaphoreModel] {
    var next = self
    let thread = threads[index]
    func advance(_ step: Step) -> [SemaphoreModel] {
      next.threads[index].step = step
      return [next]
    }
    let canTake = !word.queued && word.permits >= thread.wants
    switch thread.step {
    case .fastTry:
      guard canTake else { return advance(.lockToWait) }
      next.word.permits -= thread.wants
      return advance(.held)
    case .lockToWait:
      guard owner == nil else { return [] }
      next.owner = index
      return advance(.tryAgain)
    case .tryAgain:
      guard canTake else { return advance(.look) }
      next.word.permits -= thread.wants
      next.owner = nil
      return advance(.held)
    case .look:
      next.threads[index].seen = word
      if word.queued { return advance(.append) }
      return advance(word.permits < thread.wants ? .mark : .tryAgain)
    case .mark:
      if fault == .marksBlindly || word == thread.seen { next.word.queued = true }
      return advance(.tryAgain)
    case .append:
      next.queue.append(index)
      next.threads[index].isQueued = true
      next.owner = nil
      return advance(.sleep)
    case .sleep:
      if thread.grant == .granted { return advance(.held) }
      next.threads[index].grant = .asleep
      return advance(.asleep)
    case .asleep:
      var results: [SemaphoreModel] = []
      if thread.grant == .granted && fault != .forgetsTheWake { results += advance(.held) }
      if thread.isTimed { results += advance(.lockToLeave) }
      return results
    case .lockToLeave:
      guard owner == nil else { return [] }
      next.owner = index
      return advance(.leave)
    case .leave:
      guard thread.isQueued || fault == .givesUpBlindly else {
        next.owner = nil
        return advance(.held)
      }
      next.queue.removeAll { $0 == index }
      next.threads[index].isQueued = false
      next.threads[index].hasLeft = true
      if fault == .leavesWithoutSettling {
        if next.queue.isEmpty { next.word.queued = false }
        next.owner = nil
        return advance(.done)
      }
      next.threads[index].seen = word
      return advance(.settle)
    case .held:
      return thread.keeps ? [] : advance(.release)
    case .release:
      if word.queued { return advance(.lockToRelease) }
      next.word.permits += thread.wants
      return advance(.done)
    case .lockToRelease:
      guard owner == nil else { return [] }
      next.owner = index
      return advance(.releaseLook)
    case .releaseLook:
      guard word.queued else {
        next.owner = nil
        return advance(.release)
      }
      next.threads[index].seen = word
      return advance(.settle)
    case .settle:
      // A plain store: right only if nobody has changed the word since it was read.
      var permits = thread.seen.permits + (thread.hasLeft ? 0 : thread.wants)
      while let first = next.queue.first, threads[first].wants <= permits {
        permits -= threads[first].wants
        next.queue.removeFirst()
        next.threads[first].isQueued = false
        next.threads[index].toGrant.append(first)
      }
      next.word = Word(permits: permits, queued: !next.queue.isEmpty)
      next.owner = nil
      return advance(.grant)
    case .grant:
      guard let first = thread.toGrant.first else { return advance(.done) }
      next.threads[index].toGrant.removeFirst()
      next.threads[first].grant = .granted
      return [next]
    case .done:
      return []
    }
  }
}
