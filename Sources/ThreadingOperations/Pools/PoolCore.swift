internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform
internal import ThreadingThreads

/// The inner part of a pool: its threads, and the lanes that want them.
///
/// A lane asks for drains; each drain takes a thread. Threads that have nothing to do first look out for
/// work for a moment (one of them at a time) and then sleep, each on a word of its own; they end after
/// the idle timeout. A request wakes at most one thread, and none while one is looking out; a thread that
/// takes a request and sees more wakes the next.
@safe
final class PoolCore: LaneExecutor, @unchecked Sendable {
  // SAFETY of @unchecked: everything below that can change is guarded by `lock`, or atomic.

  /// Never held while code of the user runs or a thread is started.
  private let lock = FastMutex()
  private let changed = ConditionVariable()

  private let attributes: ThreadAttributes
  private let idleTimeout: Duration
  /// The processors to which the first workers are bound, one each.
  private let processors: [Int]
  private let minimum: Int
  /// How many drains of bare closures are of use at once.
  let closureWidth: Int

  // Guarded by `lock`, as is all that follows up to the atomics.
  private var firstLane: DrainLane?
  private var lastLane: DrainLane?
  private var requests = 0
  private var idle: [PoolWorker] = []
  private var workers: [ObjectIdentifier: PoolWorker] = [:]
  private var threads = 0
  /// Which numbers of workers are in use.
  private var numbersInUse: [Bool] = []
  /// Threads that are inside `ThreadPool.blocking`; they do not count against the maximum.
  private var blocked = 0
  private var maximum: Int
  private var isLookedAfter = true
  private var phase = Phase.open
  private var isLookingOut = false
  private var nextAttempt = MonotonicInstant(nanoseconds: 0)
  /// Somebody is on the way who tries again to start a thread.
  private var isToTryAgain = false
  /// Not owned: a lane unregisters as it goes away, and waits there while it is in use here. (Weak references
  /// would make each retain and release of a lane several times as dear.)
  private var lanes: [ObjectIdentifier: Unmanaged<DrainLane>]
  /// Lanes that a shutdown is using.
  private var lanesInUse: Set<ObjectIdentifier> = []

  enum Phase {
    case open
    case closing
    case closed
  }

  // Copies of what the lock guards, for looks without it; all relaxed: a look that comes late is made up
  // for under the lock.
  private let requestsSeen = Atomic<Int>(0)
  private let crowded = Atomic<Bool>(false)
  private let starving = Atomic<Bool>(false)
  private let closed = Atomic<Bool>(false)
  private let ended = Atomic<Bool>(false)
  private let limit: Atomic<Int>
  /// Threads that are none of the pool's, in loops that its threads help with.
  private let guests = Atomic<Int>(0)
  /// For how many nanoseconds a thread looks out.
  private let lookOutFor = Atomic<Int64>(PoolCore.longestLookOut)
  /// How many of the longest look-outs in a row found nothing, and how many slow wakes are to pass before the next.
  private let failedLookOuts = Atomic<Int>(0)
  private let wakesToPass = Atomic<Int>(0)

  /// How threads without a policy of their own are scheduled: as those that the pool's maker starts. Whoever
  /// happens to ask for a thread has nothing to do with it. nil where the attributes say it, or the system
  /// does not.
  private let scheduling: SystemScheduling.Parameters?

  /// The pool's threads take after `maker`, a thread by the kernel's id; 0 for the calling one.
  init(
    minimum: Int, maximum: Int, closureWidth: Int, idleTimeout: Duration,
    attributes: ThreadAttributes, processors: [Int] = [], maker: UInt32 = 0
  ) {
    scheduling =
      attributes.scheduling == nil ? SystemScheduling.ofThreadsStarted(by: maker) : nil
    self.processors = processors
    self.minimum = minimum
    self.maximum = maximum
    self.closureWidth = closureWidth
    self.idleTimeout = idleTimeout
    self.attributes = attributes
    limit = Atomic(maximum)
    unsafe lanes = [:]
  }

  // MARK: Requests

  func request(_ lane: DrainLane, count: Int) {
    lock.lock()
    if lane.requested == 0 { append(lane) }
    lane.requested += count
    setRequests(requests + count)
    let help = claimHelp()
    lock.unlock()
    perform(help)
  }

  var drainLimit: Int { limit.load(ordering: .relaxed) }
  var isShutDown: Bool { closed.load(ordering: .relaxed) }
  var hasEnded: Bool { ended.load(ordering: .relaxed) }

  func beginTurn() -> DrainTurn { DrainTurn(begin: nil) }

  /// Lanes are waiting for a thread, and there will be none until one of the lanes stands back.
  func isOver(_ turn: DrainTurn) -> Bool {
    turn.ran >= 32 && crowded.load(ordering: .relaxed)
  }

  func servesOnlyOnCurrentThread() -> Bool { false }

  /// As ``request(_:count:)``, for work that needs no help: unless it is urgent, a thread is woken or started for it
  /// only if fewer are busy than are of use; and none when the threads are being joined. What nobody has come for is
  /// taken back by ``withdraw(_:)``.
  func offer(_ lane: DrainLane, count: Int, isUrgent: Bool) {
    lock.lock()
    guard phase != .closed else {
      lock.unlock()
      return
    }
    if lane.requested == 0 { append(lane) }
    lane.requested += count
    setRequests(requests + count)
    // relaxed: a guest that is not seen costs one wake too many.
    let busy = threads - blocked - idle.count + guests.load(ordering: .relaxed)
    let help = isUrgent || busy < closureWidth ? claimHelp() : .none
    lock.unlock()
    perform(help)
  }

  /// Takes back what was offered and has not been taken.
  func withdraw(_ lane: DrainLane) {
    lock.lock()
    if lane.requested > 0 {
      takeOut(lane)
      setRequests(requests - lane.requested)
      lane.requested = 0
    }
    lock.unlock()
  }

  /// Counts threads that are none of the pool's and work in a loop that its threads help with.
  func countGuests(_ change: Int) { guests.wrappingAdd(change, ordering: .relaxed) }

  /// With the lock held.
  private func append(_ lane: DrainLane) {
    if let last = lastLane {
      last.nextLane = lane
      unsafe lane.previousLane = .passUnretained(last)
    } else {
      firstLane = lane
    }
    lastLane = lane
  }

  /// With the lock held.
  private func takeOut(_ lane: DrainLane) {
    let next = lane.nextLane
    let previous = unsafe lane.previousLane?.takeUnretainedValue()
    if let previous { previous.nextLane = next } else { firstLane = next }
    if let next { unsafe next.previousLane = lane.previousLane } else { lastLane = previous }
    lane.nextLane = nil
    unsafe lane.previousLane = nil
  }

  /// With the lock held: one request of the lane that has waited longest. A lane that has more goes to
  /// the end, so that lanes take turns.
  private func takeRequest() -> DrainLane? {
    guard let lane = firstLane else { return nil }
    takeOut(lane)
    lane.requested -= 1
    if lane.requested > 0 { append(lane) }
    setRequests(requests - 1)
    return lane
  }

  private func setRequests(_ count: Int) {
    requests = count
    requestsSeen.store(count, ordering: .relaxed)
    if count == 0 { crowded.store(false, ordering: .relaxed) }
  }

  private enum Help {
    case none
    case wake(PoolWorker)
    case start
  }

  /// With the lock held: who is to serve the requests that nobody is on the way to.
  private func claimHelp() -> Help {
    guard requests > 0, !isLookingOut else { return .none }
    if let worker = idle.popLast() { return .wake(worker) }
    guard threads - blocked < maximum else {
      crowded.store(true, ordering: .relaxed)
      return .none
    }
    if starving.load(ordering: .relaxed), MonotonicInstant.now < nextAttempt {
      crowded.store(true, ordering: .relaxed)
      return .none
    }
    threads += 1
    return .start
  }

  private func perform(_ help: Help) {
    switch help {
    case .none: break
    case .wake(let worker): worker.wake()
    case .start:
      do throws(ThreadingError) {
        try startWorker()
      } catch {
        // The request stays. It is served by the next thread that has nothing to do, or by one that is
        // started later: on the next request, when a thread of the pool takes work, by a waiter, or
        // after the pause.
        let moment = MonotonicInstant.now.advanced(by: Self.pauseAfterRefusal)
        lock.lock()
        threads -= 1
        starving.store(true, ordering: .relaxed)
        nextAttempt = moment
        let isFirst = !isToTryAgain
        isToTryAgain = true
        changed.broadcast()
        lock.unlock()
        if isFirst { tryAgain(at: moment) }
      }
    }
  }

  /// Has a thread started for what waits, although nobody may ask for one again.
  private func tryAgain(at moment: MonotonicInstant) {
    do throws(ThreadingError) {
      try TimeKeeper.call(at: moment) { [weak self] in
        guard let self else { return }
        lock.lock()
        isToTryAgain = false
        // Another refusal may have put the moment off since; then this try counts all the same.
        nextAttempt = MonotonicInstant(nanoseconds: 0)
        let help = claimHelp()
        lock.unlock()
        perform(help)
      }
    } catch {
      // Not even a thread that keeps the time could be started; the others who try remain.
      lock.withLock { isToTryAgain = false }
    }
  }

  /// The thread has been counted by the caller.
  private func startWorker() throws(ThreadingError) {
    let number = lock.withLock { takeNumber() }
    var own = attributes
    if number < processors.count { own.cpus = CPUSet([processors[number]]) }
    let worker = PoolWorker(own, index: number) { [self] worker in
      takeScheduling()
      serve(worker)
    }
    lock.withLock { workers[ObjectIdentifier(worker)] = worker }
    do throws(ThreadingError) {
      try worker.start()
      starving.store(false, ordering: .relaxed)
    } catch {
      lock.withLock {
        numbersInUse[number] = false
        _ = workers.removeValue(forKey: ObjectIdentifier(worker))
      }
      throw error
    }
  }

  /// Has the new thread, the calling one, scheduled as the pool's are. Without the right to raise it, it stays
  /// what its starter was.
  private func takeScheduling() {
    guard var wanted = scheduling, let own = try? SystemScheduling.parameters(of: 0) else { return }
    // The mark is an attribute of its own, and has been set.
    wanted.resetsOnFork = own.resetsOnFork
    if own != wanted { try? SystemScheduling.set(wanted, of: 0) }
  }

  /// With the lock held: the smallest number that no worker has.
  private func takeNumber() -> Int {
    if let free = numbersInUse.firstIndex(of: false) {
      numbersInUse[free] = true
      return free
    }
    numbersInUse.append(true)
    return numbersInUse.count - 1
  }

  /// Starts a thread before there is work for it, which shows whether its attributes are accepted.
  func startFirst() throws(ThreadingError) {
    lock.withLock { threads += 1 }
    do throws(ThreadingError) {
      try startWorker()
    } catch {
      lock.withLock { threads -= 1 }
      throw error
    }
  }

  func tick(before deadline: MonotonicInstant) -> MonotonicInstant {
    guard starving.load(ordering: .relaxed) else { return deadline }
    lock.lock()
    let help = claimHelp()
    lock.unlock()
    perform(help)
    return min(deadline, .now.advanced(by: Self.pauseAfterRefusal))
  }

  private static let pauseAfterRefusal = Duration.milliseconds(10)

  // MARK: The life of a thread

  private func serve(_ worker: PoolWorker) {
    let context = OperationContext.current
    context.pool = self
    context.workerIndex = worker.index
    while true {
      lock.lock()
      if threads - blocked > maximum, !isPinned(worker) {
        // If it was woken for a request, another is to come for it.
        let help = claimHelp()
        leave(worker)
        perform(help)
        break
      }
      if let lane = takeRequest() {
        let help = claimHelp()
        lock.unlock()
        perform(help)
        context.lane = lane
        lane.drain(in: context)
        context.lane = nil
        continue
      }
      if mayLookOut {
        lookOut()
        if requests > 0 {
          lock.unlock()
          continue
        }
      }
      guard rest(worker) else { break }
    }
    context.pool = nil
    context.workerIndex = nil
  }

  /// Whether the thread is bound to a processor: of one too many, the one goes that has stood in for it.
  private func isPinned(_ worker: PoolWorker) -> Bool { worker.index < processors.count }

  /// With the lock held, which it gives back: sleeps until woken.
  ///
  /// - Returns: false when the thread is to end, in which case it is no longer counted.
  private func rest(_ worker: PoolWorker) -> Bool {
    if phase == .closed || !isLookedAfter {
      leave(worker)
      return false
    }
    idle.append(worker)
    // One of those that stay: a sleep without a deadline costs the kernel no timer, at each end of it.
    let stays = threads <= minimum || idleTimeout >= Self.endless || isPinned(worker)
    lock.unlock()
    let deadline = stays ? .distantFuture : MonotonicInstant.now.advanced(by: idleTimeout)
    if worker.sleep(until: deadline) {
      noteWake(of: worker)
      return true
    }
    lock.lock()
    guard let place = idle.firstIndex(where: { $0 === worker }) else {
      // Taken off the list by somebody who is about to wake it.
      lock.unlock()
      _ = worker.sleep(until: .distantFuture)
      return true
    }
    idle.remove(at: place)
    if threads > minimum && !isPinned(worker) {
      leave(worker)
      return false
    }
    // The others have gone: without a deadline from here on, so that an idle pool never wakes.
    idle.append(worker)
    lock.unlock()
    return worker.sleep(until: .distantFuture)
  }

  private static let endless = Duration.seconds(1 << 40)

  /// With the lock held, which it gives back.
  private func leave(_ worker: PoolWorker) {
    threads -= 1
    numbersInUse[worker.index] = false
    // A shutdown joins the threads that it finds in the list; others are detached as they go.
    if phase == .open { workers.removeValue(forKey: ObjectIdentifier(worker)) }
    changed.broadcast()
    lock.unlock()
  }

  // MARK: Looking out

  private static let longestLookOut: Int64 = 40_000
  private static let shortestLookOut: Int64 = 1_000

  private var mayLookOut: Bool {
    !isLookingOut && phase == .open && isLookedAfter && Processors.available > 1
  }

  /// With the lock held, which it gives back and takes again: looks out for a request for some
  /// microseconds. While it does so, requests wake nobody.
  ///
  /// It looks out for less and less long while nothing comes.
  private func lookOut() {
    isLookingOut = true
    let longest = lookOutFor.load(ordering: .relaxed)
    let limit = MonotonicInstant(nanoseconds: MonotonicInstant.now.nanoseconds + longest)
    lock.unlock()
    var found = false
    repeat {
      for _ in 0..<16 {
        if requestsSeen.load(ordering: .relaxed) > 0 {
          found = true
          break
        }
        Processors.relax()
      }
    } while !found && MonotonicInstant.now < limit
    if found {
      failedLookOuts.store(0, ordering: .relaxed)
      wakesToPass.store(0, ordering: .relaxed)
    } else if longest == Self.longestLookOut {
      let failed = min(8, failedLookOuts.load(ordering: .relaxed) + 1)
      failedLookOuts.store(failed, ordering: .relaxed)
      wakesToPass.store(1 << failed, ordering: .relaxed)
    }
    lookOutFor.store(
      found ? Self.longestLookOut : max(Self.shortestLookOut, longest / 2), ordering: .relaxed)
    lock.lock()
    isLookingOut = false
  }

  /// If waking the thread took long but no longer than a processor needs to leave its own sleep, there may have
  /// been a processor without work, and looking out longer would have cost nobody anything. On a busy machine
  /// wakes take as long, and looking out finds nothing: then it is tried less and less often.
  private func noteWake(of worker: PoolWorker) {
    guard Processors.available > 1, (10_000...100_000).contains(worker.sinceWake) else { return }
    let toPass = wakesToPass.load(ordering: .relaxed)
    if toPass > 0 {
      wakesToPass.store(toPass - 1, ordering: .relaxed)
    } else {
      lookOutFor.store(Self.longestLookOut, ordering: .relaxed)
    }
  }

  // MARK: Blocking

  func willBlock(_ lane: DrainLane?) {
    lock.lock()
    blocked += 1
    let help = claimHelp()
    lock.unlock()
    perform(help)
    lane?.drainWillBlock()
  }

  func didBlock(_ lane: DrainLane?) {
    lane?.drainDidBlock()
    lock.lock()
    blocked -= 1
    lock.unlock()
  }

  // MARK: Settings and counts

  var maximumThreads: Int {
    get { lock.withLock { maximum } }
    set {
      lock.lock()
      maximum = newValue
      limit.store(newValue, ordering: .relaxed)
      let help = claimHelp()
      lock.unlock()
      perform(help)
    }
  }

  var threadCount: Int { lock.withLock { threads } }
  var idleThreadCount: Int { lock.withLock { idle.count } }

  // MARK: Lanes

  func register(_ lane: DrainLane) {
    lock.withLock { unsafe lanes[ObjectIdentifier(lane)] = .passUnretained(lane) }
  }

  func unregister(_ lane: DrainLane) {
    let identity = ObjectIdentifier(lane)
    lock.lock()
    while lanesInUse.contains(identity) { changed.wait(lock) }
    _ = unsafe lanes.removeValue(forKey: identity)
    lock.unlock()
  }

  // MARK: The end

  /// Nobody holds the pool any more: threads that have nothing to do end at once.
  func isDropped() {
    lock.lock()
    isLookedAfter = false
    let sleepers = idle
    idle = []
    lock.unlock()
    for worker in sleepers { worker.wake() }
  }

  /// Takes no new work, and says whether this call was the first to say so.
  func close() {
    lock.withLock { if phase == .open { phase = .closing } }
    closed.store(true, ordering: .relaxed)
  }

  /// Calls `body` with each lane that exists, until it returns false. The lane may be on its way out, but stays
  /// until `body` has returned.
  ///
  /// - Returns: whether `body` returned true for all.
  func forEachLane(_ body: (DrainLane) -> Bool) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    for identity in unsafe Array(lanes.keys) {
      while lanesInUse.contains(identity) { changed.wait(lock) }
      guard let lane = unsafe lanes[identity] else { continue }
      lanesInUse.insert(identity)
      lock.unlock()
      let goesOn = unsafe lane._withUnsafeGuaranteedRef { body($0) }
      lock.lock()
      lanesInUse.remove(identity)
      changed.broadcast()
      guard goesOn else { return false }
    }
    return true
  }

  /// Has all threads end and waits for them.
  ///
  /// - Returns: false when the moment came first; it may be called again.
  func joinAll(until deadline: MonotonicInstant) -> Bool {
    lock.lock()
    phase = .closed
    ended.store(true, ordering: .relaxed)
    let sleepers = idle
    idle = []
    lock.unlock()
    for worker in sleepers { worker.wake() }
    lock.lock()
    while threads > 0 {
      if !changed.wait(lock, until: deadline), threads > 0 {
        lock.unlock()
        return false
      }
    }
    let all = Array(workers.values)
    workers = [:]
    lock.unlock()
    for worker in all { worker.join() }
    return true
  }
}
