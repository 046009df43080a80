import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

private enum Word: ThreadDictionaryKey { typealias Value = Int }
/// What other threads store for the one that forks.
private enum Present: ThreadDictionaryKey { typealias Value = Int }

private let seen = ThreadLocal(isVisible: true) { 1 }

/// Under the sanitizer the Swift runtime takes a lock each time that a global value or a generic type is
/// used, and a thread that is gone may have it for ever.
let childIsNotStopped = ConditionTrait.disabled(
  if: ThreadSanitizer.isActive,
  "under the thread sanitizer the Swift runtime holds locks that a forked child needs")

/// What other threads are in the middle of when the main thread of a test forks.
private enum Busyness: String, CaseIterable, Codable, Sendable {
  case names, reasons, handlers, dictionary, variables, visibleValues, processors, joins, starts

  /// One round of it, again and again.
  func round(_ forker: ThreadHandle, _ other: ThreadHandle) throws {
    switch self {
    case .names: forker.name = forker.name == "forks" ? "forks, with a longer name" : "forks"
    case .reasons: try PosixThread { forker.onCancel {}.remove() }.run { $0.cancel(reason: "why") }
    case .handlers:
      forker.onCancel {}.remove()
      other.onCancel {}.remove()
    case .dictionary:
      forker.dictionary[Present.self] = 3
      forker.dictionary["text"] = "a string that lies on the heap"
    case .variables: withExtendedLifetime(ThreadLocal { 1 }) {}
    case .visibleValues:
      seen.value = 2
      seen.forEachThread { _, _ in }
      seen.remove()
    case .processors: try ThreadHandle.current.setAffinity(CPUSet.allowed())
    case .joins: try PosixThread.start {}.join()
    case .starts:
      try PosixThread.start(ThreadAttributes(name: "short-lived")) { seen.value = 4 }.join()
    }
  }
}

extension PosixThread where Output == Void, Failure == Never {
  fileprivate func run(_ body: (ThreadHandle) -> Void) throws {
    body(handle)
    try start()
    try join()
  }
}

/// All that the documentation says is safe in a forked child.
///
/// - Parameters:
///   - busy: a thread of the parent's; of this process, if it is not a child.
///   - startsThreads: whether to start threads as well.
/// - Returns: what was not as it should be.
private func useThreads(_ busy: ThreadHandle, startsThreads: Bool) -> CInt {
  let me = ThreadHandle.current
  guard let name = me.name, name.hasPrefix("forks") else { return 10 }
  me.name = "forks"
  guard let other = busy.name, other.hasPrefix("busy") else { return 11 }
  busy.name = "busy"
  guard busy.name == "busy" else { return 12 }
  me.onCancel {}.remove()
  busy.onCancel {}.remove()
  ThreadDictionary.current[Word.self] = 5
  ThreadDictionary.current["own"] = 6
  guard ThreadDictionary.current[Word.self] == 5, me.dictionary["own"] as? Int == 6 else {
    return 13
  }
  busy.dictionary[Word.self] = 7
  guard busy.dictionary["none"] == nil else { return 14 }
  let variable = ThreadLocal(isVisible: true) { 8 }
  guard variable.value == 8 else { return 15 }
  seen.value = 9
  var found = 0
  seen.forEachThread { thread, value in
    if thread.isLostToFork { found += 10 }
    if thread === me && value == 9 { found += 1 }
  }
  guard found == 1 else { return 16 }
  guard (try? CPUSet.allowed().isEmpty) == false else { return 17 }
  guard !busy.isCancelled, busy.cancellationReason == nil else { return 18 }
  guard startsThreads else { return 0 }
  var attributes = ThreadAttributes(name: "child's", stackSize: 1 << 18)
  attributes.keepsProcessOpen = true
  attributes.cpus = try? CPUSet.allowed()
  guard (try? PosixThread.start(attributes) { seen.value }.join()) == 1 else { return 19 }
  // The thread that forked is the child's own, also for others.
  let isKnown = try? PosixThread.start {
    me.kernelID == SystemThread.processID && !me.isLostToFork && me.dictionary[Word.self] == 5
  }.join()
  guard isKnown == true || !ForkedProcess.isCurrent else { return 23 }
  let sum = try? withThreads { scope in
    let left = try scope.start { 20 }
    let right = try scope.start { ThreadHandle.current.kernelID == me.kernelID ? 0 : 22 }
    return try left.join() + right.join()
  }
  return sum == 42 ? 0 : 20
}

@Suite(
  "A fork while other threads are in the middle of something", .endsInTime, childIsNotStopped)
struct ForkWhileBusyTests {
  @Test(
    "the child can do all that is said to be safe", arguments: Busyness.allCases)
  fileprivate func busy(_ busyness: Busyness) async {
    await #expect(processExitsWith: .success) { [busyness = busyness as Busyness] in
      try fork(while: busyness)
    }
  }

  @Test("a scope whose threads start threads at that moment can be used and left")
  func scope() async {
    await #expect(processExitsWith: .success) { try forkInBusyScope() }
  }

  @Test("a handler of cancellation that another thread is in is not waited for")
  func handlerThatIsGone() async {
    await #expect(processExitsWith: .success) { try forkDuringHandler() }
  }

  @Test("a handler of cancellation that forks takes itself back in both processes")
  func handlerThatForks() async {
    await #expect(processExitsWith: .success) { try forkInsideHandler() }
  }

  @Test("a handler of another thread's that forks does not wait for that thread in the child")
  func foreignHandlerThatForks() async {
    await #expect(processExitsWith: .success) { try forkInsideForeignHandler() }
  }

  @Test("a handler of the thread's own that forks is followed by the others in the child too")
  func handlersAfterFork() async {
    await #expect(processExitsWith: .success) { try forkBetweenHandlers() }
  }

  @Test("in a child's child, what the child's threads were in the middle of does not matter either")
  func grandchild() async {
    await #expect(processExitsWith: .success) { try forkTwice() }
  }

  @Test(
    "a global of the package that another thread is making for the first time is there",
    arguments: [0, 10, 40])
  func firstUse(pauses: Int) async {
    await #expect(processExitsWith: .success) { [pauses = pauses as Int] in
      try forkAtFirstUse(pauses: pauses)
    }
  }
}

private func fork(while busyness: Busyness) throws {
  synchronously {
    let me = ThreadHandle.current
    me.name = "forks"
    _ = seen.value
    let stop = Shared.Flag()
    let isBusy = Shared.Flag()
    let gate = Shared.Gate()
    let other = try PosixThread.start(ThreadAttributes(name: "busy")) { gate.wait() }
    let users = try (1...2).map { _ in
      try PosixThread.start(ThreadAttributes(name: "busy")) {
        for _ in 0..<10 { synchronously { try busyness.round(me, other.handle) } }
        isBusy.set()
        while !stop.isSet { synchronously { try busyness.round(me, other.handle) } }
      }
    }
    isBusy.wait()
    // Once here, so that the runtime has made all that it makes for it.
    let canStart = !ThreadSanitizer.isActive
    precondition(useThreads(users[0].handle, startsThreads: canStart) == 0)
    precondition(useThreads(other.handle, startsThreads: canStart) == 0)
    for _ in 0..<20 {
      let child = forkProcess()
      if child == 0 {
        let code = useThreads(users[0].handle, startsThreads: canStart)
        if code != 0 { _exit(code) }
        other.cancel(reason: "gone")
        guard other.isCancelled, other.handle.cancellationReason == "gone" else { _exit(21) }
        let isCalled = Shared.Flag()
        other.handle.onCancel { isCalled.set() }.remove()
        _exit(isCalled.isSet ? 0 : 22)
      }
      let status = statusOfChild(child)
      requireSuccess(ofChild: status)
    }
    stop.set()
    gate.open()
    for user in users { try user.join() }
    try other.join()
  }
}

private func forkInBusyScope() throws {
  synchronously {
    let stop = Shared.Flag()
    let isBusy = Shared.Flag()
    let parent = getpid()
    try withThreads { scope in
      try scope.start {
        while !stop.isSet {
          try scope.start {}
          isBusy.set()
        }
      }
      // Most of the time in the lock of the scope, which is cancelled once.
      try scope.start { while !stop.isSet { scope.cancel() } }
      isBusy.wait()
      for _ in 0..<20 {
        let child = forkProcess()
        // Leaves the scope, and comes to the end of this function.
        if child == 0 { return }
        let status = statusOfChild(child)
        requireSuccess(ofChild: status)
      }
      stop.set()
    }
    if getpid() != parent { _exit(0) }
  }
}

private func forkDuringHandler() throws {
  synchronously {
    let me = ThreadHandle.current
    let isInside = Shared.Flag()
    let gate = Shared.Gate()
    let handler = me.onCancel {
      isInside.set()
      gate.wait()
    }
    let canceller = try PosixThread.start { me.cancel(reason: "over") }
    isInside.wait()
    let status = inForkedChild {
      handler.remove()
      return me.isCancelled && me.cancellationReason == "over"
    }
    requireSuccess(ofChild: status)
    gate.open()
    handler.remove()
    try canceller.join()
  }
}

private func forkInsideHandler() throws {
  synchronously {
    let me = ThreadHandle.current
    let handler = Locked<CancellationHandler?>(nil)
    let statuses = Locked<[CInt]>([])
    let made = me.onCancel {
      let mine = handler.withLock { $0 }
      let status = inForkedChild {
        mine?.remove()
        return true
      }
      mine?.remove()
      statuses.withLock { $0.append(status) }
    }
    handler.withLock { $0 = made }
    me.cancel()
    precondition(statuses.withLock { $0 } == [0])
  }
}

private func forkInsideForeignHandler() throws {
  synchronously {
    let stop = Shared.Flag()
    let isBusy = Shared.Flag()
    let isFilled = Shared.Flag()
    let parent = getpid()
    let statuses = Locked<[CInt]>([])
    let other = try PosixThread.start {
      let removed = ThreadHandle.current.onCancel {}
      isFilled.wait()
      // Looks through all of the handlers, with the lock of the handlers held most of the time.
      while !stop.isSet {
        removed.remove()
        isBusy.set()
      }
    }
    _ = other.handle.onCancel {
      for _ in 0..<10 {
        let child = forkProcess()
        if child == 0 { return }
        let status = statusOfChild(child)
        statuses.withLock { $0.append(status) }
        if status != 0 { return }
      }
    }
    for _ in 0..<2_000 { _ = other.handle.onCancel {} }
    isFilled.set()
    isBusy.wait()
    other.cancel()
    if getpid() != parent { _exit(0) }
    stop.set()
    try other.join()
    for status in statuses.withLock({ $0 }) { requireSuccess(ofChild: status) }
    precondition(statuses.withLock { $0.count } == 10)
  }
}

private func forkBetweenHandlers() throws {
  synchronously {
    let me = ThreadHandle.current
    let child = Locked<CInt>(-1)
    let isCalled = Shared.Flag()
    _ = me.onCancel {
      let made = forkProcess()
      child.withLock { $0 = made }
    }
    _ = me.onCancel { isCalled.set() }
    me.cancel()
    let made = child.withLock { $0 }
    if made == 0 { _exit(isCalled.isSet ? 0 : 1) }
    let status = statusOfChild(made)
    requireSuccess(ofChild: status)
    precondition(isCalled.isSet)
  }
}

private func forkTwice() throws {
  guard !ThreadSanitizer.isActive else { return }
  synchronously {
    let me = ThreadHandle.current
    me.name = "forks"
    let gate = Shared.Gate()
    let thread = try PosixThread.start(ThreadAttributes(name: "busy")) { gate.wait() }
    precondition(useThreads(thread.handle, startsThreads: true) == 0)
    let child = forkProcess()
    if child == 0 {
      let isBusy = Shared.Flag()
      let user = try PosixThread.start(ThreadAttributes(name: "busy too")) {
        while true {
          thread.name = thread.name == "busy" ? "busy with something longer" : "busy"
          me.name = "forks"
          me.onCancel {}.remove()
          isBusy.set()
        }
      }
      isBusy.wait()
      for _ in 0..<20 {
        let grandchild = forkProcess()
        if grandchild == 0 {
          let code = useThreads(thread.handle, startsThreads: true)
          _exit(code != 0 ? code : useThreads(user.handle, startsThreads: true))
        }
        let status = statusOfChild(grandchild)
        if status != 0 { _exit(status < 0 ? 100 : status) }
      }
      _exit(0)
    }
    let status = statusOfChild(child)
    requireSuccess(ofChild: status)
    gate.open()
    try thread.join()
  }
}

private func forkAtFirstUse(pauses: Int) throws {
  let isRunning = Shared.Flag()
  let join = try inBackground {
    isRunning.set()
    _ = ThreadHandle.main.isMain
  }
  synchronously {
    isRunning.wait()
    for _ in 0..<pauses { Processors.relax() }
    let status = inForkedChild { ThreadHandle.main.isMain }
    requireSuccess(ofChild: status)
  }
  join()
}
