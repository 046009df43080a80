internal import ThreadingLocks
internal import ThreadingPlatform

/// One run of a pipeline: its items in flight, and the threads that carry them.
///
/// A thread takes an item from the source, or one that was left, and carries it from stage to stage. At a stage
/// that is busy, or whose turn is another item's, it leaves the item there; who has carried an item through that
/// stage puts the next one that waits there among those to be carried on. The calling thread stays to the end;
/// helpers leave when there is nothing to carry, and are asked for when there is more than one thread can carry.
final class PipelineRun: DrainLane, @unchecked Sendable {
  // SAFETY of @unchecked: what can change is guarded by `lock`; `next` is called by the one thread that has set
  // `isAsking`, and dropped by the caller when nobody is inside.

  private let lock = FastMutex()
  /// Waited for by the calling thread alone.
  private let changed = ConditionVariable()
  private let stages: [PipelineStage]
  private let limit: Int
  private let goesOn: (@Sendable () -> Bool)?
  private var next: (() throws -> (any Sendable)?)?

  /// An item on its way: before which stage, and what the stage before made of it.
  private struct Item {
    let number: Int
    var stage: Int
    var value: any Sendable
  }

  /// Where items wait for a stage that takes one at a time.
  private struct Gate {
    var isBusy = false
    /// The number of the item whose turn it is, in a stage in order.
    var turn = 0
    var waiting: [Int: Item] = [:]
    /// In a stage without order, those that wait, oldest first.
    var line = RingBuffer<Item>()
  }

  private var gates: [Gate]
  /// Items that wait for a thread.
  private var free = RingBuffer<Item>()
  private var inFlight = 0
  private var taken = 0
  private var through = 0
  private var isAsking = false
  private var isExhausted = false
  private var failure: (any Error)?
  private var threadsInside = 0
  private var helpers = 0
  private var maximumHelpers = 0
  private var isOver = false

  init(
    stages: [PipelineStage], limit: Int, next: @escaping () throws -> (any Sendable)?,
    while goesOn: (@Sendable () -> Bool)?
  ) {
    self.stages = stages
    self.limit = limit
    self.next = next
    self.goesOn = goesOn
    gates = stages.map { _ in Gate() }
  }

  /// Runs to the end, with what help comes.
  ///
  /// - Returns: how many items went through.
  func run(on pool: PoolCore, workers: Int) throws -> Int {
    maximumHelpers = workers - 1
    lock.lock()
    while true {
      carryWhatThereIs(on: pool)
      // The end: no item is left, and none comes.
      if inFlight == 0, isExhausted, !isAsking { break }
      lock.unlock()
      ThreadPool.blocking {
        lock.lock()
        while !isWorkable, !(inFlight == 0 && isExhausted && !isAsking) { changed.wait(lock) }
        lock.unlock()
      }
      lock.lock()
    }
    isOver = true
    while threadsInside > 0 {
      lock.unlock()
      ThreadPool.blocking {
        lock.lock()
        while threadsInside > 0 { changed.wait(lock) }
        lock.unlock()
      }
      lock.lock()
    }
    next = nil
    let failure = failure
    let through = through
    lock.unlock()
    if let failure { throw failure }
    return through
  }

  /// With the lock held: whether there is something to carry, or to take from the source.
  private var isWorkable: Bool { !free.isEmpty || maySource }
  private var maySource: Bool { !isExhausted && !isAsking && inFlight < limit }

  override func drain(in context: OperationContext) {
    lock.lock()
    guard !isOver else {
      lock.unlock()
      return
    }
    threadsInside += 1
    carryWhatThereIs(on: context.pool)
    threadsInside -= 1
    helpers -= 1
    changed.signal()
    lock.unlock()
  }

  /// With the lock held: carries items while there are any.
  private func carryWhatThereIs(on pool: PoolCore?) {
    while true {
      // Items that are on their way before new ones: they hold the memory.
      if let item = free.popFirst() {
        carry(item, on: pool)
      } else if maySource {
        isAsking = true
        lock.unlock()
        let answer = Result { goesOn?() ?? true ? try next?() : nil }
        lock.lock()
        isAsking = false
        var value: (any Sendable)?
        switch answer {
        case .success(let item): value = item
        case .failure(let error): if failure == nil { fail(error) }
        }
        guard let value, failure == nil else {
          isExhausted = true
          changed.signal()
          continue
        }
        let item = Item(number: taken, stage: 0, value: value)
        taken += 1
        inFlight += 1
        carry(item, on: pool)
      } else {
        return
      }
    }
  }

  /// With the lock held, which it gives back meanwhile: carries an item as far as it can be carried.
  private func carry(_ start: Item, on pool: PoolCore?) {
    var item = start
    while item.stage < stages.count, failure == nil {
      let stage = item.stage
      guard enter(item) else { return }
      askForHelp(from: pool)
      lock.unlock()
      let result = Result<any Sendable, any Error> { try stages[stage].body(item.value) }
      lock.lock()
      leave(stage)
      switch result {
      case .success(let value):
        item.value = value
        item.stage += 1
      case .failure(let error):
        if failure == nil { fail(error) }
      }
    }
    inFlight -= 1
    if failure == nil { through += 1 }
    changed.signal()
  }

  /// Takes a stage for an item.
  ///
  /// - Returns: false if it is not the item's turn: it was left there.
  private func enter(_ item: Item) -> Bool {
    let stage = item.stage
    switch stages[stage].kind {
    case .parallel: return true
    case .oneAtATime:
      guard gates[stage].isBusy else {
        gates[stage].isBusy = true
        return true
      }
      gates[stage].line.append(item)
      return false
    case .inOrder:
      guard !gates[stage].isBusy, gates[stage].turn == item.number else {
        gates[stage].waiting[item.number] = item
        return false
      }
      gates[stage].isBusy = true
      return true
    }
  }

  /// Gives a stage back, and has the next item that waits there carried on.
  private func leave(_ stage: Int) {
    switch stages[stage].kind {
    case .parallel: return
    case .oneAtATime:
      gates[stage].isBusy = false
      if let next = gates[stage].line.popFirst() { free.append(next) }
    case .inOrder:
      gates[stage].isBusy = false
      gates[stage].turn += 1
      let turn = gates[stage].turn
      if let next = gates[stage].waiting.removeValue(forKey: turn) { free.append(next) }
    }
  }

  /// Ends the run early: what waits anywhere is dropped.
  private func fail(_ error: any Error) {
    failure = error
    isExhausted = true
    while free.popFirst() != nil { inFlight -= 1 }
    for stage in gates.indices {
      inFlight -= gates[stage].waiting.count + gates[stage].line.count
      gates[stage].waiting = [:]
      gates[stage].line = RingBuffer()
    }
  }

  /// With the lock held, which it gives back meanwhile: asks for one helper more, if there is work for it.
  private func askForHelp(from pool: PoolCore?) {
    guard isWorkable else { return }
    // For the calling thread, if it sleeps.
    changed.signal()
    guard let pool, helpers < maximumHelpers else { return }
    helpers += 1
    lock.unlock()
    pool.offer(self, count: 1, isUrgent: true)
    lock.lock()
  }
}
