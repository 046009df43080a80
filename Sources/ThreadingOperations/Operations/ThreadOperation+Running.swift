internal import Synchronization
internal import ThreadingLocks
public import ThreadingPlatform

extension ThreadOperation {
  /// Runs the operation by hand, on the calling thread: returns when ``main()`` has returned and, unless
  /// it is asynchronous, the operation has finished.
  ///
  /// A cancelled operation finishes without its `main()` being called.
  ///
  /// - Throws: ``ThreadOperationError/Reason/unfinishedDependencies`` if it depends on operations that
  ///   have not finished; ``ThreadOperationError/Reason/alreadyUsed`` if it is in a queue, was started
  ///   or has finished.
  public final func start() throws(ThreadOperationError) {
    lock.lock()
    // acquiring: pairs with the releases of the dependencies that have finished.
    let waits = Self.count(holds.load(ordering: .acquiring)) != 1
    let before = update { word in
      guard word.phase == .pending, !waits else { return false }
      word.phase = .executing
      return true
    }
    lock.unlock()
    guard let before else {
      if load().phase == .pending {
        let open = dependencies.filter { !$0.isFinished }.prefix(8).map(\.label)
        throw ThreadOperationError(
          .unfinishedDependencies, self,
          "\(self) cannot be started: it waits for \(open.joined(separator: ", "))")
      }
      throw ThreadOperationError(
        .alreadyUsed, self, "\(self) cannot be started: an operation runs once")
    }
    // The reference that an operation holds on itself while it executes; see `Ending`.
    let own = unsafe Unmanaged.passRetained(self)
    let context = OperationContext.current
    switch execute(in: context, skipping: before.has(OperationWord.cancelled)) {
    case .finished:
      settle(in: context) { _ in }
      unsafe own.release()
    case .finishedElsewhere: unsafe own.release()
    case .isOnItsOwn: break
    }
  }

  /// Ends an asynchronous operation whose work is done. May be called from any thread, also before
  /// ``main()`` has returned.
  ///
  /// - Returns: Whether this call ended it: false if it had finished already.
  /// - Precondition: The operation is asynchronous and has started. If not, the program stops.
  @discardableResult
  public final func finish() -> Bool { finish(with: nil) }

  /// Ends an asynchronous operation whose work has failed. May be called from any thread, also before
  /// ``main()`` has returned.
  ///
  /// - Parameter error: what its ``outcome`` will tell.
  /// - Returns: Whether this call ended it: false if it had finished already.
  /// - Precondition: The operation is asynchronous and has started. If not, the program stops.
  @discardableResult
  public final func finish(throwing error: any Error) -> Bool { finish(with: error) }

  // MARK: Waiting

  /// Waits until the operation has finished and its completion blocks have run.
  ///
  /// Called on a thread of a pool, it lets the pool start another thread meanwhile.
  ///
  /// - Precondition: The calling thread is not inside the operation itself. If it is, the program stops.
  @available(*, noasync, message: "wait() blocks the calling thread")
  public final func wait() { _ = wait(until: .distantFuture) }

  /// Waits until the operation has finished and its completion blocks have run, or a time has passed.
  ///
  /// - Returns: Whether it has.
  /// - Precondition: The calling thread is not inside the operation itself. If it is, the program stops.
  @available(*, noasync, message: "wait(for:) blocks the calling thread")
  public final func wait(for duration: Duration) -> Bool {
    wait(until: .now.advanced(by: duration))
  }

  /// Waits until the operation has finished and its completion blocks have run, or a moment has come.
  ///
  /// What the operation wrote happens before a return of true.
  ///
  /// - Returns: Whether it has.
  /// - Precondition: The calling thread is not inside the operation itself. If it is, the program stops.
  @available(*, noasync, message: "wait(until:) blocks the calling thread")
  public final func wait(until deadline: MonotonicInstant) -> Bool {
    if load().phase == .finished { return true }
    // relaxed: only the thread itself can find its own id there.
    if runner.load(ordering: .relaxed) == SystemThread.currentID {
      fatalError("ThreadOperation.wait: \(self) would wait for itself")
    }
    if let core = core(in: load()), core.executor.servesOnlyOnCurrentThread(), !isFinished,
      !isExecuting
    {
      fatalError(
        "ThreadOperation.wait: \(self) is to run on the loop of the thread that would wait")
    }
    if endsSoon() { return true }
    return ThreadPool.blocking {
      while true {
        let seen = change { $0.bits |= OperationWord.hasWaiters }
        if seen.phase == .finished { return true }
        let expected = seen.bits | OperationWord.hasWaiters
        let step = core(in: seen)?.executor.tick(before: deadline) ?? deadline
        if Futex.wait(word, while: expected, until: step) == .timedOut, step == deadline {
          return load().phase == .finished
        }
      }
    }
  }

  /// Looks out for the end for a microsecond, and for some more if the work is under way by then: less than a
  /// sleep and a wake take. Not longer if it is not, since then a thread has to be woken, which the system does
  /// best on the processor that this one leaves.
  private final func endsSoon() -> Bool {
    guard Processors.available > 1 else { return false }
    let begin = MonotonicInstant.now.nanoseconds
    while true {
      for _ in 0..<16 {
        if load().phase == .finished { return true }
        Processors.relax()
      }
      let spent = MonotonicInstant.now.nanoseconds - begin
      guard spent < 1_000 || (spent < 10_000 && isExecuting) else { return false }
    }
  }

  private final func core(in seen: OperationWord) -> QueueCore? {
    seen.phase.rawValue >= OperationWord.Phase.waiting.rawValue ? core : nil
  }
}

// MARK: - The course of one run

extension ThreadOperation {
  /// Where an operation stands when `main()` has returned.
  ///
  /// While it executes it is kept alive by one reference, taken by whoever handed it over: by the queue
  /// or by `start()`. The last of two lets go of it: the thread that has run `main()`, and the one that
  /// has finished the operation.
  enum Ending {
    /// The caller has entered `finishing` and is to settle it and let go.
    case finished
    /// Another call has finished it, or does so at this moment; the caller is to let go.
    case finishedElsewhere
    /// Whoever finishes it settles it and lets go. The caller must not touch it any more.
    case isOnItsOwn
  }

  /// Runs `main()`, unless it is to be skipped. The phase is `executing` and the caller entered it.
  final func execute(in context: OperationContext, skipping: Bool) -> Ending {
    if skipping {
      willBeSkipped()
      if load().has(OperationWord.hasConditions) { dropConditions() }
      return enterFinishing(OperationWord.wasSkipped) == nil ? .finishedElsewhere : .finished
    }
    return context.entering(self) {
      // relaxed: read by the same thread, to find that it would wait for itself.
      runner.store(SystemThread.currentID, ordering: .relaxed)
      do {
        let now = load()
        if now.has(OperationWord.hasConditions | OperationWord.isWatched) {
          if now.has(OperationWord.isWatched) { tellWatchers() }
          if now.has(OperationWord.hasConditions) { try checkConditions() }
        }
        try main()
      } catch {
        return enterFinishing(failing: error) == nil ? .finishedElsewhere : .finished
      }
      guard isAsynchronous else {
        return enterFinishing(0) == nil ? .finishedElsewhere : .finished
      }
      runner.store(0, ordering: .relaxed)
      let leftAlone = update { word in
        guard word.phase == .executing else { return false }
        word.bits |= OperationWord.isOnItsOwn
        return true
      }
      return leftAlone == nil ? .finishedElsewhere : .isOnItsOwn
    }
  }

  private final func finish(with error: (any Error)?) -> Bool {
    let now = load()
    switch now.phase {
    case .finishing, .finished: return false
    case .executing:
      require(
        isAsynchronous,
        "ThreadOperation.finish: \(self) is not asynchronous: it finishes when main() returns")
    case .pending, .adding, .waiting, .ready:
      fatalError("ThreadOperation.finish: \(self) has not started")
    }
    let entered = error.map { enterFinishing(failing: $0) } ?? enterFinishing(0)
    guard let before = entered else { return false }
    let context = OperationContext.current
    let wasLeftAlone = before.has(OperationWord.isOnItsOwn)
    settle(in: context) { released in
      core?.retire(self, releasing: &released, freeingSlot: wasLeftAlone)
    }
    if wasLeftAlone { unsafe Unmanaged.passUnretained(self).release() }
    return true
  }

  /// Enters `finishing` from `executing`; without completion blocks, closes the operation too.
  ///
  /// - Returns: what the word was before, or nil if another call has finished the operation.
  private final func enterFinishing(_ flags: UInt32) -> OperationWord? {
    update { word in
      guard word.phase == .executing else { return false }
      word.phase = .finishing
      word.bits |= flags
      if !word.has(OperationWord.hasCompletions) { word.bits |= OperationWord.isClosed }
      return true
    }
  }

  /// As ``enterFinishing(_:)``, with an error. The lock keeps a second error from replacing the first.
  private final func enterFinishing(failing error: any Error) -> OperationWord? {
    lock.withLock {
      guard load().phase == .executing else { return nil }
      let extras = makeExtras()
      extras.error = error
      let before = enterFinishing(OperationWord.hasFailed)
      if before == nil { extras.error = nil }
      return before
    }
  }

  /// The way from `finishing` to `finished`: completion blocks, dependants, waiters.
  ///
  /// - Parameters:
  ///   - context: the calling thread's.
  ///   - retire: lets the queue know; handed the dependants that have become ready, from which it may
  ///     take its own.
  @inline(__always)
  final func settle(
    in context: OperationContext, retire: (inout ReleasedOperations) -> Void
  ) {
    didEnd()
    var now = load()
    if !now.has(OperationWord.isClosed) { now = runCompletions(in: context) }
    var released = ReleasedOperations()
    // Those of one that was cancelled in time are taken, and called, by whoever cancelled it.
    if now.has(OperationWord.hasHandlers), !now.has(OperationWord.cancelled) { takeHandlers() }
    // relaxed: whoever has added a dependency has done so before the operation could start.
    if now.has(OperationWord.hasDependants)
      || holds.load(ordering: .relaxed) & Self.hadDependencies != 0
    {
      letGoOfNeighbours(&released)
    }
    retire(&released)
    // The last step, in one: `finishing` and `finished` differ by this bit. releasing: pairs with
    // the acquire of whoever waits.
    let before = word.bitwiseOr(
      OperationWord.Phase.finished.rawValue, ordering: .acquiringAndReleasing
    ).oldValue
    if OperationWord(bits: before).has(OperationWord.hasWaiters) { Futex.wakeAll(word) }
    released.admitOthers()
  }

  /// Runs completion blocks until there are none, and closes the operation.
  private final func runCompletions(in context: OperationContext) -> OperationWord {
    context.entering(self) {
      runner.store(SystemThread.currentID, ordering: .relaxed)
      defer { runner.store(0, ordering: .relaxed) }
      while true {
        lock.lock()
        let blocks = extras?.completions ?? []
        extras?.completions = []
        word.bitwiseAnd(~OperationWord.hasCompletions, ordering: .acquiringAndReleasing)
        lock.unlock()
        for block in blocks { block(self) }
        let closed = update { word in
          guard !word.has(OperationWord.hasCompletions) else { return false }
          word.bits |= OperationWord.isClosed
          return true
        }
        if closed != nil { return load() }
      }
    }
  }

  /// Lets go of the dependencies, which have all finished or are none of its business any more, and takes
  /// its hold off each dependant. The operation is closed, so no dependant is added any more.
  ///
  /// Dependants that wait in the operation's own queue keep their hold until that queue's lock is taken, which is
  /// to be done anyway: until then they cannot start, so the queue keeps them alive.
  private final func letGoOfNeighbours(_ released: inout ReleasedOperations) {
    let own = core.map { ObjectIdentifier($0) }
    lock.lock()
    var list = dependencyList
    dependencyList = DependencyList()
    while !dependants.isEmpty {
      let edge = dependants.first
      // The dependant is alive: it takes this lock to unlink the edge before it goes.
      let link = unsafe edge.dependant
      _ = dependants.remove(edge)
      unsafe link._withUnsafeGuaranteedRef { dependant in
        if own != nil, dependant.load().phase == .waiting,
          dependant.core.map({ ObjectIdentifier($0) }) == own
        {
          unsafe released.appendOwn(link)
        } else if dependant.giveBack(1) {
          // In a queue, which keeps it alive until it has finished.
          released.append(dependant)
        }
      }
    }
    lock.unlock()
    while let (edge, dependency) = unsafe list.popFirst(of: self) {
      // Unlinked by the dependency when it finished, or by the cancellation.
      unsafe dependency.release()
      edge.deallocate()
    }
  }
}

extension ThreadOperation {
  /// A queue whose operations run where this one's queue has them run, but do not count against its width; on the
  /// shared pool for an operation that was started by hand.
  final func innerQueue(width: Int?) -> ThreadOperationQueue {
    guard let core else {
      return ThreadOperationQueue(name: label, width: width)
    }
    return ThreadOperationQueue(
      core: QueueCore(
        name: label, width: width ?? core.executor.drainLimit, executor: core.executor,
        owner: core.pool, isInner: true))
  }
}
