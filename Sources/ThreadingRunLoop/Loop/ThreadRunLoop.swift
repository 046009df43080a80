internal import Synchronization
internal import ThreadingPlatform
internal import ThreadingThreads

/// The place where a thread waits for things to do: blocks that other threads hand it, timers,
/// descriptors that become ready, signals.
///
/// Each thread has one loop, made when it is first asked for and gone with the thread. The thread
/// runs it; any thread may post to it, add to it and stop it, and whatever it is told wakes it if
/// it sleeps.
///
/// ```swift
/// let loop = ThreadRunLoop.current
/// try loop.add(ThreadTimer(after: .seconds(1)) { _ in print("a second has passed") })
/// loop.run()  // returns when the timer has fired: nothing is left to wait for
/// ```
///
/// A run makes passes until it has a reason to end. One does, in this order:
///
/// | step | what is done | observers told |
/// |---|---|---|
/// | 0 | once, as the run begins | ``RunLoopObserver/Activity/entry`` |
/// | 1 | | ``RunLoopObserver/Activity/beforeTimers`` |
/// | 2 | | ``RunLoopObserver/Activity/beforeSources`` |
/// | 3 | run the blocks that were posted before | |
/// | 4 | serve the custom sources and mailboxes that were signalled before | |
/// | 5 | run an idle block, if there is nothing to do: nothing posted, signalled or ready, and no timer due | |
/// | 6 | if there is still nothing to do, but something to wait for, no timer is due, and the run's time is not up: | ``RunLoopObserver/Activity/beforeWaiting`` |
/// | 7 | and then: sleep until something is to do, unless the observers gave it something | ``RunLoopObserver/Activity/afterWaiting`` |
/// | 8 | call the timers that are due | |
/// | 9 | serve the descriptors, signals and processes that are ready | |
/// | 10 | run the blocks that were posted meanwhile | |
/// | 11 | end, if there is reason to: in this order, ``ExitReason/stopped``, ``ExitReason/flagSet``, ``ExitReason/cancelled``, ``ExitReason/handledSource``, ``ExitReason/finished``, ``ExitReason/timedOut`` | |
/// | 12 | once, as the run ends | ``RunLoopObserver/Activity/exit`` |
///
/// Observers are thus told of waiting only by a loop that would wait: not by ``poll(mode:)``, nor in a pass
/// that has found something to do. Steps 6 and 7 come together or not at all.
///
/// What a step's own calls add is left for the next pass, and a step runs at most 256 blocks, so
/// nothing starves: a descriptor that is always ready, a block that posts itself again, a timer with an
/// interval of zero or a flood of messages come once in a pass, or 256 at a time, like everything else.
/// What becomes ready is served in the same pass or the next one; a block, in the pass in which those
/// that were posted before it have been run, 512 a pass.
///
/// Running the main thread's loop also serves the main queue of Dispatch, and with it the main
/// actor, in the modes of the common set. The queue does not keep a run going: like any other loop,
/// the main thread's ends when it has nothing else to wait for, after it has served what was there.
/// A program whose work is on the main actor alone runs its loop until an ``ExitFlag``. In a process
/// without Dispatch the queue is absent.
///
/// After a `fork`, a thread of the child has a new loop, with nothing on it. Loops, timers and sources
/// that were made before stay the parent's, ``main`` among them: the child must leave them alone.
///
/// A loop without descriptors and signals sleeps on a word in memory and owns nothing of the
/// system's, so making, running and posting cannot fail; what can throws.
public final class ThreadRunLoop: @unchecked Sendable {
  /// The kernel's id of the loop's thread.
  public let threadID: UInt32

  // What posters write has cache lines of its own, so that they do not slow down the loop's thread
  // at what it alone uses, nor the other way round.
  private let gapBefore = CacheLineGap()
  let wakeWord = WakeWord()
  let inbox = Inbox()
  private let gapAfter = CacheLineGap()

  let items = LoopItems()
  let stopRequested = Atomic<Bool>(false)
  /// The modes of the common set, as bits.
  let commonModes = Atomic<UInt64>(ModeSet.default.bits)

  /// The points of a pass that some observer is told of, as bits.
  let observedActivities = Atomic<UInt32>(0)
  /// What the loop is calling, for watchdogs.
  let calls = CallRecord()
  /// Whether the loop's thread has let go of it. Another thread may have its kernel id then.
  private let isGone = Atomic<Bool>(false)
  private let wakeCount = Atomic<Int>(0)
  // Written by the loop's thread alone.
  let passCount = Atomic<Int>(0)
  let sleepCount = Atomic<Int>(0)
  /// How long the loop looks out before it sleeps, in nanoseconds.
  private let spinNanoseconds = Atomic<Int64>(0)

  // SAFETY of @unchecked: the variables below are touched by the loop's thread alone; each method
  // that touches them either checks that or, as close(), is only called there.

  /// Blocks taken from the inbox, in order.
  var pending = PostedBlockQueue()
  /// Blocks for other modes than those that ran since they came.
  var deferred = PostedBlockQueue()
  /// The modes of the last pass, as bits. In others, deferred blocks and parked sources have to be
  /// looked at again.
  var servedModes: UInt64 = 0
  /// What became ready and was not served yet, from `readyPosition` on, as the poller's wait of
  /// number `waitNumber` and those before it reported it.
  var ready: [Poller.Event] = []
  var readyPosition = 0
  var waitNumber: UInt64 = 0
  /// How many descriptors are still to be looked at for one that was closed, and whether the last
  /// sleep brought nothing.
  var uncheckedCount = 0
  var isQuiet = false
  /// The poller of the items, once the loop has slept in it. Written before beginSleep announces
  /// `inPoll`, and never after: whoever finds that state may read it.
  var sleepingPlace: Poller?
  var mainQueueService = MainQueueService.unknown
  /// Whether the loop runs the last jobs, and takes those that they post though the inbox is closed.
  var takesJobsOnly = false
  /// The innermost run.
  var frame: Frame?
  /// Sources that are being served and want to know of runs begun meanwhile, the innermost last.
  var serving: [any SignalledSource] = []

  /// The loop's thread, for its cancellation.
  let thread: ThreadHandle

  private init(threadID: UInt32, thread: ThreadHandle) {
    self.threadID = threadID
    self.thread = thread
    items.open(self)
    thread.onCancel { [self] in notify() }
  }

  /// The loop of the calling thread. Made by the first call; costs little more than a thread-local
  /// read afterwards.
  public static var current: ThreadRunLoop {
    let thread = ThreadHandle.current
    let id = SystemThread.currentID
    if let known = thread.runLoop {
      let loop = unsafe unsafeDowncast(known, to: ThreadRunLoop.self)
      // In a child process made by `fork`, the loop is that of a thread of the parent.
      if loop.threadID == id { return loop }
    }
    let loop = id == main.threadID ? main : ThreadRunLoop(threadID: id, thread: thread)
    thread.runLoop = loop
    thread.atEnd { loop.close() }
    return loop
  }

  /// The loop of the process's first thread. Can be posted to from any thread at any time; serves
  /// what was posted once the main thread runs it.
  public static let main = ThreadRunLoop(threadID: SystemThread.processID, thread: .main)

  /// Whether this is the loop of the calling thread.
  public var isCurrent: Bool {
    threadID == SystemThread.currentID && !isGone.load(ordering: .relaxed)
  }

  /// Whether the loop's thread has ended, so that whatever is posted or added is refused.
  public var hasEnded: Bool { inbox.isClosed }

  /// The mode of the innermost run in progress; nil when the loop does not run.
  ///
  /// - Precondition: The calling thread is the loop's. On another one the program stops.
  public var currentMode: Mode? {
    requireOwner("currentMode")
    return frame?.mode
  }

  /// Adds a mode to the loop's common set: what was or will be added for ``ModeSet/common`` is
  /// served in that mode, too.
  public func addCommonMode(_ mode: Mode) {
    // relaxed: notify() hands it over.
    commonModes.bitwiseOr(ModeSet.bit(mode), ordering: .relaxed)
    notify()
  }

  /// Ends a run: the innermost one in progress, or if the loop does not run, the next one as soon
  /// as it has looked once at what there is to do.
  ///
  /// What the calling thread posted before is still run. Several calls that the loop has not
  /// noticed yet end one run together. To end a particular run, have it run until an ``ExitFlag``.
  ///
  /// - Note: Safe to call from any thread. What was written before happens before the run returns.
  public func stop() {
    // releasing: pairs with the acquire in the loop's look at it.
    stopRequested.store(true, ordering: .releasing)
    notify()
  }

  /// Makes a sleeping loop go through one pass, for what it cannot notice by itself.
  public func wakeUp() { notify() }

  /// How long the loop looks out for something to do before it goes to sleep; zero, which it is
  /// unless set, is not at all.
  ///
  /// A loop that looks out uses its processor all that time, and is told of a post without a system
  /// call on either side: a message there and back takes less than a microsecond or two instead of
  /// several. For loops that have a processor to themselves; where threads share processors, a loop
  /// that looks out holds up those that would give it something to do. Descriptors are looked at
  /// meanwhile, too.
  ///
  /// - Precondition: It is not negative. If it is, the program stops.
  /// - Note: Safe to use from any thread; holds from the loop's next sleep on.
  public var spinLimit: Duration {
    // relaxed, here and below: a number that goes with nothing else.
    get { .nanoseconds(spinNanoseconds.load(ordering: .relaxed)) }
    set {
      require(
        newValue >= .zero, "ThreadRunLoop.spinLimit: \(newValue) is negative; zero is the least")
      spinNanoseconds.store(newValue.saturatedNanoseconds, ordering: .relaxed)
    }
  }

  /// How much a loop has done since it was made.
  public struct Counters: Hashable, Sendable {
    /// Passes that were begun.
    public let passes: Int
    /// Times that the loop went to sleep in the kernel.
    public let sleeps: Int
    /// Times that another thread woke the loop, by a system call each. Under load that is far less
    /// than what is posted: a loop that is awake is not woken.
    public let wakes: Int
  }

  /// What the loop has done so far. Each number for itself is right; they are not of one moment.
  ///
  /// - Note: Safe to use from any thread.
  public var counters: Counters {
    // relaxed: counts.
    Counters(
      passes: passCount.load(ordering: .relaxed), sleeps: sleepCount.load(ordering: .relaxed),
      wakes: wakeCount.load(ordering: .relaxed))
  }

  // MARK: -

  /// Adds one to a count that only the loop's thread writes.
  func count(_ counter: borrowing Atomic<Int>) {
    counter.store(counter.load(ordering: .relaxed) + 1, ordering: .relaxed)
  }

  /// Whether the loop sleeps, or is about to. For tests.
  package var isAsleep: Bool { wakeWord.isAsleep }

  /// Whether no posted block waits in the inbox. For tests.
  package var isInboxEmpty: Bool { inbox.isEmpty }

  /// When to stop looking out for something to do, if it is begun now; nil for not to begin.
  var lookOutLimit: MonotonicInstant? {
    let nanoseconds = spinNanoseconds.load(ordering: .relaxed)
    return nanoseconds == 0 ? nil : .now.advanced(by: .nanoseconds(nanoseconds))
  }

  /// Makes the loop look around before it sleeps again, and wakes it if it does.
  func notify() { wake(wakeWord.notify()) }

  func wake(_ sleeper: WakeWord.Sleeper) {
    switch sleeper {
    case .none: return
    case .onFutex: wakeWord.wakeFromFutex()
    case .inPoll: sleepingPlace?.wake()
    }
    // relaxed: a count.
    wakeCount.wrappingAdd(1, ordering: .relaxed)
  }

  func requireOwner(_ method: StaticString) {
    if !isCurrent { stopForeignCall(method) }
  }

  private func stopForeignCall(_ method: StaticString) -> Never {
    require(
      !isGone.load(ordering: .relaxed),
      "ThreadRunLoop.\(method): called for the loop of a thread that has ended")
    fatalError(
      "ThreadRunLoop.\(method): called on \(SystemThread.describe(SystemThread.currentID)) for the loop of "
        + "\(SystemThread.describe(threadID)); only a loop's own thread may")
  }

  /// The thread ends: refuses what comes, fails those who wait, lets go of everything. Jobs of
  /// executors, which can run nowhere else, are run, with those that they bring about.
  private func close() {
    // In a child process made by `fork`, the items are those of a thread of the parent, which shares
    // the poller.
    guard threadID == SystemThread.currentID else { return }
    // Until no job is left; blocks that others go on posting do not hold up the end.
    repeat {
      unsafe pending.append(newestFirst: inbox.takeAll())
      pending.prepend(&deferred)
    } while runJobs()
    unsafe pending.append(newestFirst: inbox.close())
    // Jobs that came at the last moment, with those that they bring about.
    takesJobsOnly = true
    _ = runJobs()
    while let block = unsafe deferred.popFirst() {
      let contents = unsafe block.move()
      unsafe PostedBlock.giveBack(block, number: contents.number)
      unsafe contents.work.abandon()
    }
    items.close()
    // Of tasks that waited for what has just been let go of.
    _ = runJobs()
    takesJobsOnly = false
    // relaxed: only this thread, or one that has got its kernel id later, asks.
    isGone.store(true, ordering: .relaxed)
  }

  /// Runs the jobs among the pending blocks, and defers the others.
  ///
  /// - Returns: whether there was a job.
  private func runJobs() -> Bool {
    var ran = false
    while let block = unsafe pending.popFirst() {
      guard unsafe block.pointee.work.isJob else {
        unsafe deferred.append(block)
        continue
      }
      let contents = unsafe block.move()
      unsafe PostedBlock.giveBack(block, number: contents.number)
      unsafe contents.work.run()
      ran = true
    }
    return ran
  }
}
