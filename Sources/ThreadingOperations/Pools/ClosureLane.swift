internal import ThreadingLocks
internal import ThreadingPlatform

/// The bare closures of a pool, oldest first.
@safe
final class ClosureLane: DrainLane, @unchecked Sendable {
  // SAFETY of @safe: the pointer is valid for as long as the object.
  // SAFETY of @unchecked: everything that can change is guarded by `lock`.

  private let lock = FastMutex()
  private let emptied = ConditionVariable()
  private let executor: PoolCore

  /// Guarded by `lock`. Behind a pointer for the same reason as the state of a queue.
  private let state: UnsafeMutablePointer<State>

  private struct State {
    var closures = RingBuffer<@Sendable () -> Void>()
    /// Closures that are running.
    var running = 0
    /// Drains asked for or running, but for those that block.
    var drains = 0

    var isEmpty: Bool { running == 0 && closures.isEmpty }

    mutating func claimDrains(_ count: Int, atMost width: Int) -> Int {
      let wanted = min(count, closures.count, width - drains)
      guard wanted > 0 else { return 0 }
      drains += wanted
      return wanted
    }
  }

  init(executor: PoolCore) {
    self.executor = executor
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: State())
    super.init()
    executor.register(self)
  }

  deinit {
    executor.unregister(self)
    unsafe state.deinitialize(count: 1)
    unsafe state.deallocate()
  }

  func add(_ closure: @escaping @Sendable () -> Void) {
    lock.lock()
    unsafe state.pointee.closures.append(closure)
    let wanted = unsafe state.pointee.claimDrains(1, atMost: executor.closureWidth)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
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
      unsafe state.pointee.running -= 1
      if unsafe state.pointee.isEmpty { emptied.broadcast() }
    }
    if !standingBack, let closure = unsafe state.pointee.closures.popFirst() {
      unsafe state.pointee.running += 1
      lock.unlock()
      return closure
    }
    unsafe state.pointee.drains -= 1
    let wanted = unsafe state.pointee.claimDrains(
      standingBack ? 1 : 0, atMost: executor.closureWidth)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
    return nil
  }

  override func drainWillBlock() {
    lock.lock()
    unsafe state.pointee.drains -= 1
    let wanted = unsafe state.pointee.claimDrains(1, atMost: executor.closureWidth)
    lock.unlock()
    if wanted > 0 { executor.request(self, count: wanted) }
  }

  override func drainDidBlock() { lock.withLock { unsafe state.pointee.drains += 1 } }

  /// Drops the closures that have not begun.
  override func abandon() -> [ThreadOperation] {
    var dropped = RingBuffer<@Sendable () -> Void>()
    lock.lock()
    unsafe swap(&dropped, &state.pointee.closures)
    if unsafe state.pointee.isEmpty { emptied.broadcast() }
    lock.unlock()
    return []
  }

  override func waitUntilEmpty(until deadline: MonotonicInstant) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while unsafe !state.pointee.isEmpty {
      let step = executor.tick(before: deadline)
      if !emptied.wait(lock, until: step), step == deadline { return unsafe state.pointee.isEmpty }
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
