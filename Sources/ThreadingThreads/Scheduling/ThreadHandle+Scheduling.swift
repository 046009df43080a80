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
  ///     ``ThreadAttributes/resetsSchedulingOnFork``; nil for whether the policy is privileged.
  /// - Throws: a ``ThreadingError``: `EINVAL` for a value out of range, `EPERM` when the process lacks
  ///   the right, `EBUSY` for deadlines that cannot be kept, `ESRCH` for a thread that has not been
  ///   started or has ended. The thread is then scheduled as before.
  public func setScheduling(
    _ policy: SchedulingPolicy, resetsOnFork: Bool? = nil
  ) throws(ThreadingError) {
    let parameters = try policy.parameters(resetsOnFork: resetsOnFork)
    try withLiveID("setScheduling") { id throws(ThreadingError) in
      try Self.schedule(parameters, thread: id)
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

  /// Changes the processors that the thread may run on. Threads that it starts do not inherit them: they
  /// get what their own attributes say, or else all that the process may use.
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
  /// What the process might use before the package narrowed the processors of any thread, the main
  /// thread among them.
  static var affinityBeforePinning: CPUSet? { affinityLock.withLock { unsafe originalAffinity } }

  static let affinityLock = ForkSafeLock()
  // SAFETY of nonisolated(unsafe): only touched with `affinityLock` held.
  private nonisolated(unsafe) static var originalAffinity: CPUSet?

  /// What a thread without processors of its own is to get from the calling one: nil if that has none
  /// of its own either, for then it inherits what everybody has.
  static var affinityForChild: CPUSet? { current.isPinned ? affinityBeforePinning : nil }

  /// - Parameters:
  ///   - cpus: where the thread may run.
  ///   - thread: its kernel id, or 0 for the calling one.
  ///   - isOwn: whether they are the thread's own, and not all that the process may use.
  /// - Throws: what the system refuses.
  func pin(_ cpus: CPUSet, thread: UInt32, isOwn: Bool) throws(ThreadingError) {
    let allowed = try CPUSet.allowed()
    Self.affinityLock.withLock {
      if unsafe Self.originalAffinity == nil { unsafe Self.originalAffinity = allowed }
    }
    try SystemScheduling.setAffinity(cpus.words, of: thread)
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
