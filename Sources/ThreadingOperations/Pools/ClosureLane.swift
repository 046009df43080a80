internal import ThreadingLocks
internal import ThreadingPlatform

/// The bare closures of a pool, oldest first.
final class ClosureLane: DrainLane, @unchecked Sendable {
  // SAFETY of @unchecked: everything that can change is guarded by `lock`.

  private let lock = FastMutex()
  private let emptied = ConditionVariable()
  private let executor: PoolCore

  // Guarded by `lock`, as is all that follows.
  private var closures = RingBuffer<@Sendable () -> Void>()
  /// Closures that are running.
  private var running = 0
  /// Drains asked for or running, but for those that block.
  private var drains = 0

  init(executor: PoolCore) {
    self.executor = executor
    super.init()
    executor.register(self)
  }

  deinit { executor.unregister(self) }

  func add(_ closure: @escaping @Sendable () -> Void) {
    lock.lock()
    closures.append(closure)
    let wanted = claimDrains(1)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  private func claimDrains(_ count: Int) -> Int {
    let wanted = min(count, closures.count, executor.closureWidth - drains)
    guard wanted > 0 else { return 0 }
    drains += wanted
    return wanted
  }

  override func drain(in context: OperationContext) {
    var turn = executor.beginTurn()
    while let closure = take(standingBack: executor.isOver(turn), after: turn.ran > 0) {
      turn.ran += 1
      closure()
    }
  }

  private func take(standingBack: Bool, after ranOne: Bool) -> (@Sendable () -> Void)? {
    lock.lock()
    if ranOne {
      running -= 1
      if running == 0, closures.isEmpty { emptied.broadcast() }
    }
    if !standingBack, let closure = closures.popFirst() {
      running += 1
      lock.unlock()
      return closure
    }
    drains -= 1
    let wanted = claimDrains(standingBack ? 1 : 0)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    return nil
  }

  override func drainWillBlock() {
    lock.lock()
    drains -= 1
    let wanted = claimDrains(1)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  override func drainDidBlock() { lock.withLock { drains += 1 } }

  /// Drops the closures that have not begun.
  override func abandon() -> [ThreadOperation] {
    var dropped = RingBuffer<@Sendable () -> Void>()
    lock.lock()
    swap(&dropped, &closures)
    if running == 0 { emptied.broadcast() }
    lock.unlock()
    return []
  }

  override func waitUntilEmpty(until deadline: MonotonicInstant) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while running > 0 || !closures.isEmpty {
      let step = executor.tick(before: deadline)
      if !emptied.wait(lock, until: step), step == deadline {
        return running == 0 && closures.isEmpty
      }
    }
    return true
  }
}

/// A queue in an array that grows and is used round and round. All calls are O(1), adding on average.
struct RingBuffer<Element> {
  private var storage: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ element: consuming Element) {
    if count == storage.count { grow() }
    storage[(head + count) & (storage.count - 1)] = element
    count += 1
  }

  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = storage[head].take()
    head = (head + 1) & (storage.count - 1)
    count -= 1
    return element
  }

  /// Doubles the storage, whose size is a power of two.
  private mutating func grow() {
    var larger: [Element?] = []
    larger.reserveCapacity(max(16, storage.count * 2))
    for offset in 0..<count {
      larger.append(storage[(head + offset) & (storage.count - 1)].take())
    }
    larger.append(
      contentsOf: repeatElement(nil, count: max(16, storage.count * 2) - larger.count))
    storage = larger
    head = 0
  }
}
