import Glibc
import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform
import ThreadingThreads

/// Whether this process may lower nice values and use real-time policies, found by trying.
private let isPrivileged: Bool = {
  do {
    return try PosixThread.start(ThreadAttributes(scheduling: .fifo(priority: 1))) { true }.join()
  } catch {
    return false
  }
}()

private func policyInside(_ attributes: ThreadAttributes) throws -> SchedulingPolicy? {
  let thread = try PosixThread.start(attributes) { try? ThreadHandle.current.scheduling() }
  return try thread.join()
}

/// A set as the system takes it.
private func words(of set: CPUSet) -> [UInt64] {
  var words = [UInt64](repeating: 0, count: 1 + (set.numbers.max() ?? 0) / 64)
  for number in set.numbers { words[number / 64] |= 1 << UInt64(number % 64) }
  return words
}

/// How long the calling thread has had a processor.
private func ownProcessorTime() -> Duration {
  var time = timespec()
  precondition(unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// Gives up the rights of the process; for a child process of a test.
func dropRights() {
  var none = rlimit(rlim_cur: 0, rlim_max: 0)
  // RLIMIT_NICE and RLIMIT_RTPRIO, which the Glibc module does not show.
  for resource in [13, 14] as [__rlimit_resource_t] {
    precondition(unsafe setrlimit(resource, &none) == 0)
  }
  precondition(setuid(65_534) == 0 || geteuid() != 0)
}

private func checkResetInChild(_ asked: Bool?) throws {
  synchronously {
    var attributes = ThreadAttributes(scheduling: .other(nice: -3))
    attributes.resetsSchedulingOnFork = asked
    let expected = asked == false ? -3 : 0
    let status = try PosixThread.start(attributes) { () -> CInt in
      let started = try? PosixThread.start { try? ThreadHandle.current.scheduling() }.join()
      guard started == .other(nice: expected) else { return 1 }
      // By the system's own call: the child is a process with a nice value of its own.
      let child = inForkedChild { getpriority(.init(PRIO_PROCESS.rawValue), 0) == expected }
      guard child == 0 else { return 2 }
      return (try? ThreadHandle.current.scheduling()) == .other(nice: -3) ? 0 : 3
    }.join()
    requireSuccess(ofChild: status)
  }
}

private func checkThreadLimitOfGroup() throws {
  guard let group = ThreadLimitGroup(name: "swift-threading-\(getpid())") else {
    fatalError("no control group")
  }
  guard group.join() else { fatalError("the control group cannot be joined") }
  defer {
    guard group.leave(), group.remove() else { fatalError("the control group stays") }
  }
  synchronously {
    let before = ProcessFigures.now().threads
    guard group.limit(to: before + 10) else { fatalError("no limit") }
    let gate = Shared.Gate()
    var threads: [PosixThread<Void, Never>] = []
    var refusal: ThreadingError?
    while refusal == nil && threads.count < 100 {
      do throws(ThreadingError) {
        threads.append(try PosixThread.start(ThreadAttributes(stackSize: 65_536)) { gate.wait() })
      } catch {
        refusal = error
      }
    }
    precondition(refusal?.call == "pthread_create" && refusal?.codeName == "EAGAIN")
    precondition(refusal?.message.contains("limit of threads") == true)
    // The probe of stack sizes may be one of the ten, for a moment.
    precondition((8...10).contains(threads.count), "\(threads.count)")
    gate.open()
    for thread in threads { try thread.join() }
    precondition(eventually { ProcessFigures.now().threads <= before })
    for _ in 0..<5 { try PosixThread.start {}.join() }
  }
}

@Suite("Scheduling", .endsInTime)
struct SchedulingTests {
  @Test(
    "a policy that needs no right is in force before the body runs",
    arguments: [
      SchedulingPolicy.other(nice: 0), .other(nice: 7), .batch(nice: 3), .idle,
      .quality(.utility), .quality(.background),
    ])
  func ordinary(policy: SchedulingPolicy) throws {
    #expect(try policyInside(ThreadAttributes(scheduling: policy)) == policy)
  }

  @Test(
    "a policy that needs a right is in force before the body runs", .enabled(if: isPrivileged),
    arguments: [
      SchedulingPolicy.other(nice: -5), .fifo(priority: 3), .roundRobin(priority: 2),
      .quality(.userInteractive),
    ])
  func privileged(policy: SchedulingPolicy) throws {
    #expect(try policyInside(ThreadAttributes(scheduling: policy)) == policy)
  }

  @Test("a deadline policy is in force, or refused just as the bare system call is")
  func deadline() throws {
    let policy = SchedulingPolicy.deadline(
      runtime: .microseconds(100), deadline: .milliseconds(10), period: .milliseconds(20))
    // What the system says to a thread that does nothing but ask.
    let bare = Locked<ThreadingError?>(nil)
    try inBackground {
      do throws(ThreadingError) {
        var wanted = SystemScheduling.Parameters(policy: .deadline)
        wanted.resetsOnFork = true
        wanted.runtime = 100_000
        wanted.deadline = 10_000_000
        wanted.period = 20_000_000
        try SystemScheduling.set(wanted, of: 0)
      } catch {
        bare.withLock { $0 = error }
      }
    }()
    let inForce = Locked<(policy: SchedulingPolicy?, number: Int?)>((nil, nil))
    do throws(ThreadingError) {
      let thread = try PosixThread.start(ThreadAttributes(scheduling: policy)) {
        let me = ThreadHandle.current
        let found = (try? me.scheduling(), SystemThreadReport.stat(41, of: me))
        inForce.withLock { $0 = found }
      }
      try thread.join()
      #expect(bare.withLock { $0 } == nil)
      // 6 is SCHED_DEADLINE, in the kernel's own file.
      #expect(inForce.withLock { $0.policy } == policy && inForce.withLock { $0.number } == 6)
    } catch {
      #expect(bare.withLock { $0?.code } == error.code)
      #expect(error.message.contains("was refused"))
    }
  }

  @Test("without the right a deadline is refused with EPERM")
  func deadlineRefused() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        dropRights()
        let policy = SchedulingPolicy.deadline(
          runtime: .microseconds(100), deadline: .milliseconds(10), period: .milliseconds(20))
        do throws(ThreadingError) {
          _ = try PosixThread.start(ThreadAttributes(scheduling: policy)) {}
          fatalError("started")
        } catch {
          precondition(error.codeName == "EPERM", "\(error)")
        }
      }
    }
  }

  @Test(
    "each class of service is in force in the kernel's own files, and read back",
    arguments: ThreadQuality.allCases)
  func qualities(quality: ThreadQuality) throws {
    let (nice, number): (Int, Int) =
      switch quality {
      case .userInteractive: (-5, 0)
      case .userInitiated, .default: (0, 0)
      case .utility: (5, 0)
      case .background: (19, 3)
      }
    if nice < 0 && !isPrivileged { return }
    let thread = try PosixThread.start(ThreadAttributes(scheduling: .quality(quality))) {
      let me = ThreadHandle.current
      return (
        SystemThreadReport.stat(19, of: me), SystemThreadReport.stat(41, of: me),
        try? me.scheduling()
      )
    }
    let inside = try thread.join()
    #expect(inside.0 == nice && inside.1 == number)
    #expect(inside.2 == quality.policy)
    #expect(inside.2?.nearestQuality == (quality == .userInitiated ? .default : quality))
  }

  @Test("without the right a class that needs it falls back, if it may, to what is read back")
  func qualityFallsBack() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        dropRights()
        var attributes = ThreadAttributes(scheduling: .quality(.userInteractive))
        do throws(ThreadingError) {
          _ = try PosixThread.start(attributes) {}
          fatalError("started")
        } catch {
          precondition(["EPERM", "EACCES"].contains(error.codeName), "\(error)")
        }
        attributes.isSchedulingRequired = false
        let thread = try PosixThread.start(attributes) {
          (try? ThreadHandle.current.scheduling(), SystemThreadReport.stat(19, of: .current))
        }
        let inside = try thread.join()
        precondition(inside.0?.nearestQuality == .default && inside.0?.portablePriority == 0.5)
        precondition(inside.1 == 0)
      }
    }
  }

  @Test(
    "at the limit of threads a start is refused, and works again when threads have ended",
    .enabled(if: geteuid() == 0 && !ThreadSanitizer.isActive))
  func threadLimit() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        // The limit counts the threads of a user, and does not bind the superuser.
        var limits = rlimit(rlim_cur: 40, rlim_max: 40)
        // 6 is RLIMIT_NPROC, which the Glibc module does not show.
        precondition(unsafe setrlimit(6, &limits) == 0)
        precondition(setuid(uid_t(70_000 + getpid() % 5_000)) == 0)
        let gate = Shared.Gate()
        var threads: [PosixThread<Void, Never>] = []
        var refusal: ThreadingError?
        while refusal == nil && threads.count < 100 {
          do throws(ThreadingError) {
            threads.append(
              try PosixThread.start(ThreadAttributes(stackSize: 65_536)) { gate.wait() })
          } catch {
            refusal = error
          }
        }
        guard let refusal else { fatalError("\(threads.count) threads were started") }
        precondition(refusal.call == "pthread_create" && refusal.codeName == "EAGAIN")
        precondition(refusal.message.contains("limit of threads"), "\(refusal)")
        precondition(threads.count < 40)
        gate.open()
        for thread in threads { try thread.join() }
        try PosixThread.start {}.join()
      }
    }
  }

  @Test(
    "where a control group allows no more threads a start is refused, and works again afterwards",
    .enabled(if: ThreadLimitGroup.isPossible, "needs the right to make a control group of threads"))
  func threadLimitOfGroup() async {
    await #expect(processExitsWith: .success) { try checkThreadLimitOfGroup() }
  }

  @Test(
    "the mark that resets the scheduling of children is set as asked for, and read back",
    arguments: [nil, true, false] as [Bool?])
  func resetOnFork(asked: Bool?) throws {
    var attributes = ThreadAttributes(scheduling: .other(nice: 4))
    attributes.resetsSchedulingOnFork = asked
    let gate = Shared.Gate()
    let thread = try PosixThread.start(attributes) { gate.wait() }
    #expect(try thread.handle.resetsSchedulingOnFork() == (asked ?? false))
    #expect(try thread.handle.scheduling() == .other(nice: 4))
    // Set while it runs, from outside. Taking it back needs a right.
    try thread.handle.setScheduling(.batch(nice: 5), resetsOnFork: true)
    #expect(try thread.handle.resetsSchedulingOnFork())
    gate.open()
    try thread.join()
    // With the scheduling that is inherited.
    attributes.scheduling = nil
    let plain = try PosixThread.start(attributes) {
      try? ThreadHandle.current.resetsSchedulingOnFork()
    }
    #expect(try plain.join() == (asked ?? false))
  }

  @Test(
    "with the mark, a forked child and a thread that is started have no privilege; without it they do",
    .enabled(if: isPrivileged, "needs the right to lower the nice value"),
    arguments: [nil, true, false] as [Bool?])
  func resetInChild(asked: Bool?) async {
    await #expect(processExitsWith: .success) { [asked = asked as Bool?] in
      try checkResetInChild(asked)
    }
  }

  @Test("a deadline that children would inherit is refused")
  func inheritedDeadline() {
    var attributes = ThreadAttributes(
      scheduling: .deadline(
        runtime: .microseconds(100), deadline: .milliseconds(10), period: .milliseconds(20)))
    attributes.resetsSchedulingOnFork = false
    do throws(ThreadingError) {
      try attributes.validate()
      Issue.record("accepted")
    } catch {
      #expect(error.codeName == "EINVAL" && error.message.contains("cannot be inherited"))
    }
  }

  @Test("a running thread's policy is changed from outside; an ended thread has none")
  func whileRunning() throws {
    let gate = Shared.Flag()
    let thread = PosixThread { gate.wait() }
    #expect(throws: ThreadingError.self) { try thread.handle.setScheduling(.idle) }
    try thread.start()
    try thread.handle.setScheduling(.other(nice: 4))
    #expect(try thread.handle.scheduling() == .other(nice: 4))
    #expect(try ThreadHandle.current.scheduling() != .other(nice: 4))
    gate.set()
    try thread.join()
    let error = try #require(throws: ThreadingError.self) { try thread.handle.scheduling() }
    #expect(error.codeName == "ESRCH")
    #expect(throws: ThreadingError.self) { try thread.handle.setAffinity(.allowed()) }
  }

  @Test("without the right a start is refused with what is missing, and runs nothing")
  func refused() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        dropRights()
        let ran = Shared.Flag()
        for policy in [SchedulingPolicy.fifo(priority: 5), .other(nice: -5)] {
          let thread = PosixThread(ThreadAttributes(name: "rt", scheduling: policy)) { ran.set() }
          do throws(ThreadingError) {
            try thread.start()
            fatalError("started")
          } catch {
            precondition(["EPERM", "EACCES"].contains(error.codeName), "\(error)")
            precondition(error.message.contains("CAP_SYS_NICE"), "\(error)")
          }
          precondition(thread.state == .notStarted && !ran.isSet)
          do {
            try thread.join()
            fatalError("joined")
          } catch {}
        }
        // With leave to do without, the thread runs as it may, and says so.
        var attributes = ThreadAttributes(scheduling: .fifo(priority: 5))
        attributes.isSchedulingRequired = false
        let policy = try policyInside(attributes)
        precondition(policy == .other(nice: 0), "\(policy as Any)")
      }
    }
  }

  @Test("a mark that the process has no right to take off stays, and does not stop a change")
  func markWithoutRight() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        dropRights()
        let gate = Shared.Flag()
        var attributes = ThreadAttributes()
        attributes.resetsSchedulingOnFork = true
        let thread = try PosixThread.start(attributes) { gate.wait() }
        try thread.handle.setScheduling(.other(nice: 10))
        try thread.handle.setScheduling(.batch(nice: 12))
        let policy = try thread.handle.scheduling()
        let isMarked = try thread.handle.resetsSchedulingOnFork()
        precondition(policy == .batch(nice: 12) && isMarked)
        do throws(ThreadingError) {
          try thread.handle.setScheduling(.batch(nice: 12), resetsOnFork: false)
          fatalError("taken off")
        } catch {
          precondition(error.codeName == "EPERM", "\(error)")
        }
        gate.set()
        try thread.join()
      }
    }
  }

  @Test("values out of range are refused with the limit, before a thread is made")
  func outOfRange() throws {
    for (policy, part) in [
      (SchedulingPolicy.other(nice: 20), "-20...19"), (.batch(nice: -21), "-20...19"),
      (.fifo(priority: 0), "1...99"), (.roundRobin(priority: 100), "1...99"),
      (
        .deadline(runtime: .seconds(2), deadline: .seconds(1), period: .seconds(1)),
        "runtime <= deadline"
      ),
    ] {
      let attributes = ThreadAttributes(scheduling: policy)
      let early = try #require(throws: ThreadingError.self) { try attributes.validate() }
      #expect(early.codeName == "EINVAL")
      #expect(early.message.contains(part))
      #expect(throws: early) { try PosixThread.start(attributes) {} }
    }
    #expect(throws: ThreadingError.self) { try SchedulingPolicy.priority(1.5) }
    #expect(throws: ThreadingError.self) { try SchedulingPolicy.priority(.nan) }
  }

  @Test("portable priorities map to nice values and back")
  func portable() throws {
    #expect(try SchedulingPolicy.priority(0.5) == .other(nice: 0))
    #expect(try SchedulingPolicy.priority(0) == .other(nice: 19))
    #expect(try SchedulingPolicy.priority(1) == .other(nice: -20))
    for nice in -20...19 {
      let value = SchedulingPolicy.other(nice: nice).portablePriority
      #expect(try SchedulingPolicy.priority(value) == .other(nice: nice))
    }
  }

  @Test("what a real-time thread starts is not real time", .enabled(if: isPrivileged))
  func notInherited() throws {
    let thread = try PosixThread.start(ThreadAttributes(scheduling: .fifo(priority: 1))) {
      () -> SchedulingPolicy? in
      try? policyInside(ThreadAttributes())
    }
    #expect(try thread.join() == .other(nice: 0))
  }

  @Test("a detached thread is refused in the same way")
  func detached() throws {
    var attributes = ThreadAttributes(scheduling: .other(nice: 5))
    let nice = Locked<SchedulingPolicy?>(nil)
    let handle = try PosixThread.detach(attributes) {
      let policy = try? ThreadHandle.current.scheduling()
      nice.withLock { $0 = policy }
    }
    #expect(eventually { handle.state == .finished })
    #expect(nice.withLock { $0 } == .other(nice: 5))
    attributes.scheduling = .other(nice: 99)
    #expect(throws: ThreadingError.self) { try PosixThread.detach(attributes) {} }
  }
}

@Suite("Processors", .endsInTime)
struct ProcessorTests {
  @Test(
    "lists of the kernel's kind are read and written",
    arguments: [
      ("0-3,8", [0, 1, 2, 3, 8], "0-3,8"), ("", [], ""), (" 5\n", [5], "5"),
      ("3,1,2", [1, 2, 3], "1-3"), ("0-10:2/4", [0, 1, 4, 5, 8, 9], "0-1,4-5,8-9"),
      ("63-65,127", [63, 64, 65, 127], "63-65,127"), ("7-7", [7], "7"),
    ])
  func lists(text: String, numbers: [Int], written: String) throws {
    let set = try CPUSet(kernelList: text)
    #expect(set.numbers == numbers)
    #expect(set.count == numbers.count)
    #expect(set.kernelList == written)
    #expect(set == CPUSet(numbers))
  }

  @Test(
    "what is no list is refused with the part that is wrong",
    arguments: [
      "a", "1,,2", "3-1", "-1", "1-", "99999999999999999999", "1 2", "0-4:0/2", "0-4:3/2", "+1",
      "70000",
    ])
  func badLists(text: String) throws {
    let error = try #require(throws: ThreadingError.self) { try CPUSet(kernelList: text) }
    #expect(error.codeName == "EINVAL")
    #expect(error.message.contains(text))
  }

  @Test("a number that is no processor's stops the program", arguments: [-1, 65_536])
  func outOfRange(number: Int) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [number = number as Int] in
      _ = CPUSet([number])
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("CPUSet.insert: processor \(number) is outside 0...65535"))
  }

  @Test("the set's algebra agrees with that of plain sets", arguments: 1...20)
  func algebra(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let left = Set((0..<40).map { _ in Int.random(in: 0..<200, using: &random) })
    let right = Set((0..<40).map { _ in Int.random(in: 0..<200, using: &random) })
    #expect(Set(CPUSet(left).union(CPUSet(right)).numbers) == left.union(right))
    #expect(Set(CPUSet(left).intersection(CPUSet(right)).numbers) == left.intersection(right))
    #expect(
      Set(CPUSet(left).symmetricDifference(CPUSet(right)).numbers)
        == left.symmetricDifference(right))
    #expect(Set(CPUSet(left).subtracting(CPUSet(right)).numbers) == left.subtracting(right))
    var emptied = CPUSet(left)
    for number in left { #expect(emptied.remove(number) == number) }
    #expect(emptied.isEmpty && emptied == CPUSet())
  }

  @Test("a thread pinned at its start or later runs there, and what it starts does not inherit it")
  func pinning() throws {
    let allowed = try CPUSet.allowed()
    let first = CPUSet(allowed.numbers.prefix(1))
    let thread = try PosixThread.start(ThreadAttributes(cpus: first)) { () -> [CPUSet] in
      let mine = (try? ThreadHandle.current.affinity()) ?? CPUSet()
      let child = try? PosixThread.start { (try? ThreadHandle.current.affinity()) ?? CPUSet() }
      let childs = (try? child?.join()) ?? CPUSet()
      try? ThreadHandle.current.setAffinity(allowed)
      return [mine, childs, (try? ThreadHandle.current.affinity()) ?? CPUSet()]
    }
    #expect(try thread.join() == [first, allowed, allowed])
    #expect(try CPUSet.allowed() == allowed)
  }

  @Test(
    "a thread of a higher rank is not held up at its start by those that keep its processor busy",
    .enabled(if: isPrivileged))
  func rankBeforeProcessor() async {
    await #expect(processExitsWith: .success) { try ProcessorTests().checkRankBeforeProcessor() }
  }

  fileprivate func checkRankBeforeProcessor() throws {
    let last = CPUSet(try CPUSet.allowed().numbers.suffix(1))
    let isBusy = Shared.Flag()
    let hasStarted = Atomic<Bool>(false)
    // Gives up after a time of its own work, so that what holds the other up is seen and not waited for.
    let busy = try PosixThread.start(ThreadAttributes(scheduling: .fifo(priority: 10), cpus: last))
    {
      isBusy.set()
      let start = ownProcessorTime()
      while !hasStarted.load(ordering: .acquiring) {
        if ownProcessorTime() - start > .milliseconds(500) { return false }
      }
      return true
    }
    isBusy.wait()
    // Started by one that ordinary threads do not hold up, wherever it runs, nor what it starts.
    var preferred = ThreadAttributes(scheduling: .other(nice: -20))
    preferred.resetsSchedulingOnFork = false
    let starter = try PosixThread.start(preferred) { () -> Bool in
      let other = try? PosixThread.start(
        ThreadAttributes(scheduling: .fifo(priority: 20), cpus: last)
      ) { hasStarted.store(true, ordering: .releasing) }
      return (try? other?.join()) != nil
    }
    #expect(try starter.join() == true)
    #expect(try busy.join() == true)
  }

  @Test("what a thread starts while it is being pinned has all processors")
  func whileBeingPinned() throws {
    let allowed = try CPUSet.allowed()
    let first = CPUSet(allowed.numbers.prefix(1))
    for _ in 0..<(LongTests.areOn ? 20_000 : 200) {
      let gate = Shared.Flag()
      let parent = try PosixThread.start { () -> Set<CPUSet> in
        gate.set()
        return Set(
          (0..<10).map { _ in
            let child = try? PosixThread.start { (try? ThreadHandle.current.affinity()) ?? [] }
            return (try? child?.join()) ?? []
          })
      }
      gate.wait()
      // Refused if the thread has ended meanwhile.
      try? parent.handle.setAffinity(first)
      #expect(try parent.join() == [allowed])
    }
  }

  @Test("a thread started by a foreign one that was narrowed has all processors")
  func ofNarrowedForeign() throws {
    let allowed = try CPUSet.allowed()
    let seen = Locked<[CPUSet]>([])
    try concurrently(1) { _ in
      #expect(throws: Never.self) {
        try SystemScheduling.setAffinity(words(of: CPUSet(allowed.numbers.prefix(1))), of: 0)
      }
      for _ in 1...2 {
        let child = try? PosixThread.start { (try? ThreadHandle.current.affinity()) ?? [] }
        let set = (try? child?.join()) ?? []
        seen.withLock { $0.append(set) }
      }
    }
    #expect(seen.withLock { $0 } == [allowed, allowed])
  }

  @Test("the allowed set follows the system's, and is kept only while the main thread is pinned")
  func allowedFollows() async throws {
    guard try CPUSet.allowed().count > 1 else { return }
    await #expect(processExitsWith: .success) { try ProcessorTests().checkAllowedFollows() }
  }

  fileprivate func checkAllowedFollows() throws {
    let all = try CPUSet.allowed()
    let first = CPUSet(all.numbers.prefix(1))
    let pinned = try PosixThread.start(ThreadAttributes(cpus: first)) {}
    try pinned.join()
    // As an administrator does it to the process.
    try SystemScheduling.setAffinity(words(of: first), of: SystemThread.processID)
    #expect(try CPUSet.allowed() == first)
    #expect(AvailableParallelism.current == 1)
    try SystemScheduling.setAffinity(words(of: all), of: SystemThread.processID)
    #expect(try CPUSet.allowed() == all)
    try ThreadHandle.main.setAffinity(first)
    #expect(try CPUSet.allowed() == all)
    #expect(try ThreadHandle.main.affinity() == first)
    try ThreadHandle.main.setAffinity(all)
    #expect(try CPUSet.allowed() == all)
  }

  @Test("without a descriptor, the width is that of the processors, and is not kept")
  func widthWithoutDescriptors() async {
    await #expect(processExitsWith: .success) {
      synchronously {
        let root = try TemporaryFolder()
        defer { root.remove() }
        try root.write("a/cpu.max", "1000 100000\n")
        let width = withoutDescriptors { AvailableParallelism.initial }
        let allowed = try CPUSet.allowed().count
        precondition(width == allowed)
        ControlGroups.substitute = ControlGroups(membership: "0::/a\n", mount: root.path)
        precondition(AvailableParallelism.initial == 1)
      }
    }
  }

  @Test("processors that the process may not use are refused, and the thread stays usable")
  func notAllowed() throws {
    let beyond = CPUSet([10_000])
    let gate = Shared.Flag()
    let thread = try PosixThread.start {
      gate.wait()
      return 1
    }
    for set in [CPUSet(), beyond, try CPUSet.allowed().union(beyond)] {
      let error = try #require(throws: ThreadingError.self) { try thread.handle.setAffinity(set) }
      #expect(error.codeName == "EINVAL")
      let refused = try #require(throws: ThreadingError.self) {
        try PosixThread.start(ThreadAttributes(cpus: set)) {}
      }
      #expect(refused.codeName == "EINVAL")
    }
    #expect(try thread.handle.affinity() == CPUSet.allowed())
    gate.set()
    #expect(try thread.join() == 1)
  }

  @Test("quotas of both versions of control groups, in the group and around it, are found")
  func quotas() throws {
    let root = try TemporaryFolder()
    defer { root.remove() }
    try root.write("a/b/cpu.max", "150000 100000\n")
    try root.write("a/cpu.max", "400000 100000\n")
    try root.write("cpu.max", "max 100000\n")
    try root.write("cpu/x/cpu.cfs_quota_us", "50000\n")
    try root.write("cpu/x/cpu.cfs_period_us", "100000\n")
    try root.write("cpu/y/cpu.cfs_quota_us", "-1\n")
    try root.write("cpu/y/cpu.cfs_period_us", "100000\n")
    func share(_ membership: String) throws -> Double? {
      try ControlGroups(membership: membership, mount: root.path).processorShare()
    }
    #expect(try share("0::/a/b\n") == 1.5)
    #expect(try share("0::/a/other\n") == 4)
    #expect(try share("0::/\n") == nil)
    #expect(try share("3:cpu,cpuacct:/x\n2:memory:/x\n0::/a\n") == 0.5)
    #expect(try share("3:cpu:/y\n") == nil)
    #expect(try share("") == nil)
    #expect(try share("nonsense\n") == nil)
  }

  @Test("the width for busy threads is at least 1 and at most the processors allowed")
  func parallelism() throws {
    let width = AvailableParallelism.current
    #expect(width >= 1)
    #expect(width <= max(1, try CPUSet.allowed().count))
  }
}

/// A folder for one test.
private final class TemporaryFolder {
  let path: String
  private var made: [String] = []

  init() throws {
    var template = Array("/tmp/threading-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw ThreadCancelled(reason: "no folder") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func write(_ name: String, _ text: String) throws {
    var folder = path
    for part in name.split(separator: "/").dropLast() {
      folder += "/" + part
      if unsafe mkdir(folder, 0o755) == 0 { made.append(folder) }
    }
    guard let file = unsafe fopen(path + "/" + name, "we") else {
      throw ThreadCancelled(reason: "no file \(name)")
    }
    made.append(path + "/" + name)
    _ = unsafe fputs(text, file)
    _ = unsafe fclose(file)
  }

  func remove() {
    for entry in made.reversed() { _ = unsafe Glibc.remove(entry) }
    _ = unsafe rmdir(path)
  }
}
