internal import Synchronization
internal import ThreadingLocks
public import ThreadingPlatform

extension ThreadHandle {
  /// How the kernel schedules the thread at this moment. Costs a system call.
  ///
  /// - Throws: a ``ThreadingError``: `ESRCH` for a thread that has not been started or has ended;
  ///   `EINVAL` for a policy that this package does not know.
  public func scheduling() throws(ThreadingError) -> SchedulingPolicy {
    SchedulingPolicy(try systemScheduling("scheduling"))
  }

  /// Changes how the kernel schedules the thread.
  ///
  /// - Parameters:
  ///   - policy: the policy to put in force.
  ///   - resetsOnFork: whether what the thread starts is put back to the usual scheduling, as for
  ///     ``ThreadAttributes/resetsSchedulingOnFork``; nil for whether the policy is privileged. A mark
  ///     that is there, and that the process lacks the right to take off, then stays: it has no effect
  ///     under a policy that is not privileged.
  /// - Throws: a ``ThreadingError``: `EINVAL` for a value out of range, `EPERM` when the process lacks
  ///   the right, `EBUSY` for deadlines that cannot be kept, `ESRCH` for a thread that has not been
  ///   started or has ended. The thread is then scheduled as before.
  public func setScheduling(
    _ policy: SchedulingPolicy, resetsOnFork: Bool? = nil
  ) throws(ThreadingError) {
    let parameters = try policy.parameters(resetsOnFork: resetsOnFork)
    try withLiveID("setScheduling") { id throws(ThreadingError) in
      do throws(ThreadingError) {
        try Self.schedule(parameters, thread: id)
      } catch {
        guard resetsOnFork == nil, error.codeName == "EPERM", !parameters.resetsOnFork,
          try SystemScheduling.parameters(of: id)?.resetsOnFork == true
        else { throw error }
        var marked = parameters
        marked.resetsOnFork = true
        try Self.schedule(marked, thread: id)
      }
    }
  }

  /// Whether the kernel puts what the thread starts, threads and forked processes, back to the usual
  /// scheduling, if the thread's own is privileged at that moment; see
  /// ``ThreadAttributes/resetsSchedulingOnFork``. Costs a system call.
  ///
  /// - Throws: a ``ThreadingError``: as ``scheduling()``.
  public func resetsSchedulingOnFork() throws(ThreadingError) -> Bool {
    try systemScheduling("resetsSchedulingOnFork").resetsOnFork
  }

  private func systemScheduling(
    _ method: String
  ) throws(ThreadingError) -> SystemScheduling.Parameters {
    let parameters = try withLiveID(method) { id throws(ThreadingError) in
      try SystemScheduling.parameters(of: id)
    }
    guard let parameters else {
      throw .refused(
        by: "ThreadHandle.\(method)", code: .invalid, "\(self) has a policy of another kind")
    }
    return parameters
  }

  /// The processors that the thread may run on at this moment. Costs a system call.
  ///
  /// - Throws: a ``ThreadingError`` (`ESRCH`) for a thread that has not been started or has ended.
  public func affinity() throws(ThreadingError) -> CPUSet {
    try withLiveID("affinity") { id throws(ThreadingError) in
      CPUSet(words: try SystemScheduling.affinity(of: id))
    }
  }

  /// Changes the processors that the thread may run on. Threads of this package that it starts do not
  /// inherit them: they get what their own attributes say, or else all that the process may use. What
  /// it has Foundation, Dispatch or the C library start does, as the kernel hands them on.
  ///
  /// - Parameter cpus: must be allowed to the process, all of them.
  /// - Throws: a ``ThreadingError``: `EINVAL` for an empty set or one with processors that the process
  ///   may not use, `ESRCH` for a thread that has not been started or has ended. The thread then runs
  ///   where it ran before.
  public func setAffinity(_ cpus: CPUSet) throws(ThreadingError) {
    try cpus.checkAllowed(by: "ThreadHandle.setAffinity")
    try withLiveID("setAffinity") { id throws(ThreadingError) in
      try pin(cpus, thread: id, isOwn: true)
    }
  }
}

// MARK: - What starting a thread needs as well

extension ThreadHandle {
  /// The processors that the process may use: those of its first thread, which is the main one, as they
  /// are now, or as they were before the package narrowed them.
  static func processAffinity() throws(ThreadingError) -> CPUSet {
    try affinityLock.withLock { () throws(ThreadingError) in
      if let before = unsafe mainAffinity { return before }
      return CPUSet(words: try SystemScheduling.affinity(of: SystemThread.processID))
    }
  }

  static let affinityLock = ForkSafeLock()
  /// What the process's first thread had before it was given processors of its own; nil if it has none.
  // SAFETY of nonisolated(unsafe): only touched with `affinityLock` held; the second too.
  private nonisolated(unsafe) static var mainAffinity: CPUSet?
  private nonisolated(unsafe) static var parentsMainAffinity: CPUSet?

  /// For a fork, with `affinityLock` held: the thread that forks goes on as the child's first. If it has
  /// processors of its own, the child's are those of the parent all the same.
  static func affinityBeforeFork(by forker: ThreadHandle, isFirst: Bool) {
    unsafe parentsMainAffinity = mainAffinity
    if isFirst { return }
    guard forker.isPinned else {
      unsafe mainAffinity = nil
      return
    }
    if unsafe mainAffinity == nil {
      let words = try? SystemScheduling.affinity(of: SystemThread.processID)
      unsafe mainAffinity = words.map(CPUSet.init(words:))
    }
  }

  static func affinityAfterForkInParent() {
    unsafe mainAffinity = parentsMainAffinity
    unsafe parentsMainAffinity = nil
  }

  /// What a thread without processors of its own is to get from the calling one: nil where it inherits
  /// what everybody has.
  ///
  /// A thread of other origin may have been narrowed by those who made it.
  static func affinityForChild() throws(ThreadingError) -> CPUSet? {
    let starter = current
    guard starter.isPinned || starter.origin == .other else { return nil }
    let all = try processAffinity()
    if starter.isPinned { return all }
    return CPUSet(words: try SystemScheduling.affinity(of: 0)) == all ? nil : all
  }

  /// - Parameters:
  ///   - cpus: where the thread may run.
  ///   - thread: its kernel id, or 0 for the calling one.
  ///   - isOwn: whether they are the thread's own, and not all that the process may use.
  /// - Throws: what the system refuses.
  func pin(_ cpus: CPUSet, thread: UInt32, isOwn: Bool) throws(ThreadingError) {
    guard self === ForkGuard.firstThreadOfProcess else {
      return try set(cpus, thread: thread, isOwn: isOwn)
    }
    try Self.affinityLock.withLock { () throws(ThreadingError) in
      var before = unsafe Self.mainAffinity
      if before == nil { before = CPUSet(words: try SystemScheduling.affinity(of: thread)) }
      try set(cpus, thread: thread, isOwn: isOwn)
      unsafe Self.mainAffinity = before
    }
  }

  private func set(_ cpus: CPUSet, thread: UInt32, isOwn: Bool) throws(ThreadingError) {
    // Marked before: what the thread starts meanwhile may have the new ones already.
    let wasPinned = isPinned
    if isOwn { isPinned = true }
    do throws(ThreadingError) {
      try SystemScheduling.setAffinity(cpus.words, of: thread)
    } catch {
      isPinned = wasPinned
      throw error
    }
    isPinned = isOwn
  }

  static func schedule(
    _ parameters: SystemScheduling.Parameters, thread: UInt32
  ) throws(ThreadingError) {
    do throws(ThreadingError) {
      try SystemScheduling.set(parameters, of: thread)
    } catch {
      let reason =
        switch error.codeName {
        case "EPERM" where parameters.policy == .deadline:
          "it needs CAP_SYS_NICE, and a thread that may run on all processors"
        case "EPERM", "EACCES":
          "it needs CAP_SYS_NICE, or a limit (RLIMIT_NICE, RLIMIT_RTPRIO) that allows it"
        case "EBUSY": "the kernel cannot promise these deadlines beside those it has promised"
        default: error.message
        }
      throw ThreadingError(
        call: error.call, code: error.code,
        message: "\(SchedulingPolicy(parameters)) was refused: \(reason)")
    }
  }
}

extension CPUSet {
  /// - Throws: when the set is empty, or the process may not use all of it.
  func checkAllowed(by method: String) throws(ThreadingError) {
    guard !isEmpty else {
      throw .refused(by: method, code: .invalid, "a thread needs at least one processor")
    }
    let allowed = try CPUSet.allowed()
    let surplus = subtracting(allowed)
    guard surplus.isEmpty else {
      throw .refused(
        by: method, code: .invalid,
        "processors \(surplus.kernelList) are not among those that the process may use: "
          + allowed.kernelList)
    }
  }
}
