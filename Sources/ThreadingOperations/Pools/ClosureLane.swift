internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// The bare closures of a pool.
///
/// What comes from outside stands in a line, oldest first. What a closure of the pool gives to its own pool
/// goes into a deque of its thread: the thread takes the newest first, which is what its caches hold, without
/// a lock; other threads that find the line empty steal the oldest.
///
/// A drain has a seat with such a deque for as long as it lasts. It ends when it has found nothing in its
/// deque, in the line and in the deques of the others.
@safe
final class ClosureLane: DrainLane, @unchecked Sendable {
  // SAFETY of @safe: the pointer is valid for as long as the object.
  // SAFETY of @unchecked: everything that can change is atomic or guarded by `lock`.

  private let lock = FastMutex()
  private let emptied = ConditionVariable()
  private let executor: PoolCore

  /// Guarded by `lock`. Behind a pointer for the same reason as the state of a queue.
  private let state: UnsafeMutablePointer<State>

  /// The seat that was made last; the others follow. releasing, acquiring: who sees a seat sees its deque.
  private let newestSeat: Atomic<Unmanaged<DrainSeat>?>
  /// A copy of `State.drains`, written with the lock held. sequentially consistent: who adds to a deque looks
  /// whether there is room for another drain; a drain that ends makes room and looks once more into all deques.
  /// One of the two sees the other's step, so no job lies where nobody looks while a thread could run it.
  private let drainsSeen = Atomic<Int>(0)
  /// A copy of the length of the line. relaxed: before a drain ends, it looks with the lock held.
  private let lineSeen = Atomic<Int>(0)

  private struct State {
    var line = RingBuffer<Job>()
    /// Drains asked for or running, but for those that block.
    var drains = 0
    /// All seats that there are: as many as there have been drains at once.
    var seats: [DrainSeat] = []
    /// Seats that no drain has. There may be jobs in one, left by a drain that stood back.
    var free: [DrainSeat] = []

    /// With what a drain that ends must have found nothing.
    var hasWork: Bool { !line.isEmpty || seats.contains { !$0.deque.isEmpty } }
  }

  init(executor: PoolCore) {
    self.executor = executor
    unsafe newestSeat = Atomic(nil)
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

  // MARK: Adding

  func add(_ job: consuming Job) {
    if let context = OperationContext.ifPresent, let seat = context.seat, context.lane === self,
      seat.deque.hasRoom
    {
      _ = seat.deque.add(job)
      if drainsSeen.load(ordering: .sequentiallyConsistent) < executor.closureWidth {
        askForDrain()
      }
      return
    }
    lock.lock()
    unsafe state.pointee.line.append(job)
    unsafe lineSeen.store(state.pointee.line.count, ordering: .relaxed)
    let isWanted = claimDrain()
    lock.unlock()
    if isWanted { executor.request(self, count: 1) }
  }

  private func askForDrain() {
    lock.lock()
    let isWanted = claimDrain()
    lock.unlock()
    if isWanted { executor.request(self, count: 1) }
  }

  /// With the lock held, when there is work: whether one more drain is to be asked for, which is counted then.
  private func claimDrain() -> Bool {
    guard unsafe state.pointee.drains < executor.closureWidth else { return false }
    countDrains(1)
    return true
  }

  /// With the lock held.
  private func countDrains(_ change: Int) {
    unsafe state.pointee.drains += change
    unsafe drainsSeen.store(state.pointee.drains, ordering: .sequentiallyConsistent)
  }

  // MARK: Draining

  override func drain(in context: OperationContext) {
    let seat = takeSeat()
    context.seat = seat
    var turn = executor.beginTurn()
    var fairness = Fairness()
    while let job = next(on: seat, turn, &fairness) {
      turn.ran += 1
      job.body()
    }
    context.seat = nil
  }

  /// When a drain is to look elsewhere than where it usually looks first, so that nothing is held up for ever.
  private struct Fairness {
    /// Jobs that came out of the drain's deque one after another.
    private var ownInARow = 0
    private var isTurnOfLine = false
    private var timesEmpty = 0

    /// How often in a row the usual place comes first. More than a drain puts into its deque at once: their order
    /// is kept.
    private static let most = 61

    enum Turn {
      case newest
      case line
      case oldest
    }

    /// What is to come first while there are jobs in the deque: its newest, but now and then, by turns, what comes
    /// from outside and the deque's oldest, both of which closures that give others would hold up.
    mutating func ofDeque() -> Turn {
      guard ownInARow >= Self.most else { return .newest }
      ownInARow = 0
      isTurnOfLine.toggle()
      return isTurnOfLine ? .line : .oldest
    }

    mutating func tookOwn() { ownInARow += 1 }

    /// The deque is empty. The line is to come first, but now and then the deques of others are, where jobs may lie
    /// behind a long one while the line never becomes empty.
    ///
    /// - Returns: whether others come first.
    mutating func foundEmpty() -> Bool {
      ownInARow = 0
      timesEmpty += 1
      guard timesEmpty >= Self.most else { return false }
      timesEmpty = 0
      return true
    }
  }

  private func next(on seat: DrainSeat, _ turn: DrainTurn, _ fairness: inout Fairness) -> Job? {
    // relaxed: who sees late that there are too many drains runs one job more. There are too many when one has
    // blocked, another has stood in, and the first goes on.
    let standsBack =
      executor.isOver(turn) || drainsSeen.load(ordering: .relaxed) > executor.closureWidth
    while !standsBack {
      switch fairness.ofDeque() {
      case .newest: break
      case .line: if let job = takeFromLine() { return job }
      case .oldest: if let job = stealOldest(of: seat) { return job }
      }
      if let job = seat.deque.take() {
        fairness.tookOwn()
        return job
      }
      if fairness.foundEmpty(), let job = steal(for: seat) { return job }
      if let job = takeSome(on: seat) ?? steal(for: seat) { return job }
      if leave(seat) { return nil }
    }
    standBack(from: seat)
    return nil
  }

  private func takeFromLine() -> Job? {
    guard lineSeen.load(ordering: .relaxed) > 0 else { return nil }
    lock.lock()
    let job = unsafe state.pointee.line.popFirst()
    unsafe lineSeen.store(state.pointee.line.count, ordering: .relaxed)
    lock.unlock()
    return job
  }

  /// The most that a drain takes out of the line at once.
  private static let most = 8

  /// Takes the first of the line and, if that is long, puts some more into the drain's empty deque: where others
  /// may steal them, and where it takes them itself without the lock, for which all would queue up.
  private func takeSome(on seat: DrainSeat) -> Job? {
    guard lineSeen.load(ordering: .relaxed) > 0 else { return nil }
    lock.lock()
    defer { lock.unlock() }
    let job = unsafe state.pointee.line.popFirst()
    let left = unsafe state.pointee.line.count
    let more = min(Self.most - 1, left / (executor.closureWidth * 2))
    // With the lock held: a drain that ends sees them in the line or in the deque.
    if more > 0 {
      seat.deque.add(more) {
        guard let next = unsafe state.pointee.line.popFirst() else {
          fatalError("ClosureLane: its line is shorter than its length")
        }
        return next
      }
    }
    lineSeen.store(left - more, ordering: .relaxed)
    return job
  }

  /// Looks into all deques, each time beginning with the one after its own, so that not all thieves are at one.
  private func steal(for seat: DrainSeat) -> Job? {
    var victim = unsafe seat.next ?? newestSeat.load(ordering: .acquiring)
    while let other = unsafe victim,
      unsafe other.toOpaque() != Unmanaged.passUnretained(seat).toOpaque()
    {
      let (job, next) = unsafe other._withUnsafeGuaranteedRef { other in
        unsafe (stealOldest(of: other), other.next)
      }
      if let job { return job }
      unsafe victim = unsafe next ?? newestSeat.load(ordering: .acquiring)
    }
    return nil
  }

  private func stealOldest(of seat: DrainSeat) -> Job? {
    while true {
      switch seat.deque.steal() {
      case .job(let job): return job
      case .lost: continue
      case .nothing: return nil
      }
    }
  }

  private func takeSeat() -> DrainSeat {
    lock.lock()
    defer { lock.unlock() }
    if let seat = unsafe state.pointee.free.popLast() { return seat }
    let seat = unsafe DrainSeat(next: newestSeat.load(ordering: .relaxed))
    unsafe state.pointee.seats.append(seat)
    unsafe newestSeat.store(.passUnretained(seat), ordering: .releasing)
    return seat
  }

  /// Ends a drain that has found nothing, unless there is something now.
  private func leave(_ seat: DrainSeat) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    countDrains(-1)
    if unsafe state.pointee.hasWork {
      countDrains(1)
      return false
    }
    unsafe state.pointee.free.append(seat)
    emptied.broadcast()
    return true
  }

  /// Ends a drain that is to let others go first. What is left in its deque may be stolen, or is taken by the next
  /// drain that has the seat.
  private func standBack(from seat: DrainSeat) {
    lock.lock()
    countDrains(-1)
    unsafe state.pointee.free.append(seat)
    let hasWork = unsafe state.pointee.hasWork
    let isWanted = hasWork && claimDrain()
    if !hasWork { emptied.broadcast() }
    lock.unlock()
    if isWanted { executor.request(self, count: 1) }
  }

  override func drainWillBlock() {
    lock.lock()
    countDrains(-1)
    let isWanted = unsafe state.pointee.hasWork && claimDrain()
    lock.unlock()
    if isWanted { executor.request(self, count: 1) }
  }

  override func drainDidBlock() { lock.withLock { countDrains(1) } }

  // MARK: The end

  /// Drops the closures that have not begun.
  override func abandon() -> [ThreadOperation] {
    var dropped = RingBuffer<Job>()
    lock.lock()
    unsafe swap(&dropped, &state.pointee.line)
    lineSeen.store(0, ordering: .relaxed)
    let seats = unsafe state.pointee.seats
    lock.unlock()
    for seat in seats {
      while true {
        let theft = seat.deque.steal()
        if case .nothing = theft { break }
      }
    }
    lock.withLock { if unsafe !state.pointee.hasWork { emptied.broadcast() } }
    return []
  }

  /// Waits until all closures have begun. A pool that joins its threads waits for their end.
  override func waitUntilEmpty(until deadline: MonotonicInstant) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while unsafe state.pointee.hasWork {
      let step = executor.tick(before: deadline)
      if !emptied.wait(lock, until: step), step == deadline { return unsafe !state.pointee.hasWork }
    }
    return true
  }
}

/// What a drain of a pool's closures has for itself: a deque. Seats are never given back before their lane.
@safe
final class DrainSeat: Sendable {
  let deque = WorkDeque()
  /// The seat that was made before, alive for as long as this one.
  let next: Unmanaged<DrainSeat>?

  init(next: Unmanaged<DrainSeat>?) { unsafe self.next = unsafe next }
}
