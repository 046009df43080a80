public import ThreadingPlatform

/// How the kernel shares processors out to a thread.
///
/// A policy is given at the start by ``ThreadAttributes/scheduling``, changed while the thread runs by
/// ``ThreadHandle/setScheduling(_:resetsOnFork:)``, and read back as what is in force by
/// ``ThreadHandle/scheduling()``.
///
/// What a thread may be given depends on the rights of the process: raising the nice value is always
/// allowed, lowering it and the real-time policies need `CAP_SYS_NICE` or the limits `RLIMIT_NICE` and
/// `RLIMIT_RTPRIO`. What is refused is an error.
///
/// Threads and processes that a thread with a real-time policy or a negative nice value starts do not
/// inherit it: the kernel puts them back to `other(nice: 0)`. It is otherwise only if
/// ``ThreadAttributes/resetsSchedulingOnFork`` says so.
public enum SchedulingPolicy: Sendable, Hashable {
  /// The usual time-sharing, with a weight by the nice value: -20 (most) to 19 (least).
  case other(nice: Int = 0)
  /// As ``other(nice:)``, for work that never waits for people: the thread is taken for busy, and
  /// disturbs others less.
  case batch(nice: Int = 0)
  /// Only when nothing else wants the processor.
  case idle
  /// Real time: runs until it waits or one of higher priority is ready. On Linux from 1 to 99.
  case fifo(priority: Int)
  /// As ``fifo(priority:)``, taking turns with threads of the same priority.
  case roundRobin(priority: Int)
  /// Real time by deadlines: `runtime` of processor time within `deadline` of each beginning of a
  /// `period`. At least 1,024 ns of runtime; runtime <= deadline <= period. The kernel refuses
  /// (`EBUSY`) what it cannot promise, and (`EPERM`) a thread with fewer processors than the rest.
  case deadline(runtime: Duration, deadline: Duration, period: Duration)

  /// The policy for a portable priority, from 0.0 (least) over 0.5 (usual) to 1.0 (most): the usual
  /// time-sharing with a nice value from 19 over 0 to -20.
  ///
  /// - Throws: a ``ThreadingError`` (`EINVAL`) for a value outside 0.0...1.0.
  public static func priority(_ value: Double) throws(ThreadingError) -> SchedulingPolicy {
    guard (0.0...1.0).contains(value) else {
      throw .refused(
        by: "SchedulingPolicy.priority", code: .invalid,
        "a priority of \(value) is outside 0.0...1.0")
    }
    let nice = value < 0.5 ? (0.5 - value) * 38 : (0.5 - value) * 40
    return .other(nice: Int(nice.rounded()))
  }

  /// The policy for a class of service.
  public static func quality(_ quality: ThreadQuality) -> SchedulingPolicy { quality.policy }

  /// The portable priority that comes nearest: the inverse of ``priority(_:)``. Real-time policies are
  /// 1.0, ``idle`` is 0.0.
  public var portablePriority: Double {
    switch self {
    case .other(let nice), .batch(let nice):
      nice > 0 ? 0.5 - Double(nice) / 38 : 0.5 - Double(nice) / 40
    case .idle: 0
    case .fifo, .roundRobin, .deadline: 1
    }
  }

  /// The class of service that comes nearest to what is in force. Where two classes are mapped to the
  /// same policy, as ``ThreadQuality/userInitiated`` and ``ThreadQuality/default`` are, it is the latter.
  public var nearestQuality: ThreadQuality {
    switch self {
    case .fifo, .roundRobin, .deadline: .userInteractive
    case .idle, .batch: .background
    case .other(let nice):
      if nice <= -3 {
        .userInteractive
      } else if nice < 3 {
        .default
      } else if nice < 12 {
        .utility
      } else {
        .background
      }
    }
  }

  /// Checks the values of the policy against the running system's limits.
  ///
  /// - Throws: a ``ThreadingError`` (`EINVAL`) that names the value and the limit.
  public func validate() throws(ThreadingError) {
    switch self {
    case .other(let nice), .batch(let nice):
      guard (-20...19).contains(nice) else {
        throw .invalidPolicy("a nice value of \(nice) is outside -20...19")
      }
    case .fifo(let priority), .roundRobin(let priority):
      let range = SystemScheduling.priorityRange(of: .fifo)
      guard range.contains(priority) else {
        throw .invalidPolicy("a real-time priority of \(priority) is outside \(range)")
      }
    case .idle: break
    case .deadline(let runtime, let deadline, let period):
      guard runtime >= .nanoseconds(1024) && runtime <= deadline && deadline <= period else {
        throw .invalidPolicy(
          "a runtime of \(runtime), a deadline of \(deadline) and a period of \(period) are not "
            + "1,024 ns <= runtime <= deadline <= period")
      }
    }
  }

  /// - Parameter resetsOnFork: whether children get it; nil for whether they need it.
  /// - Returns: what the kernel is told.
  /// - Throws: as ``validate()``; `EINVAL` for a deadline that children would inherit.
  func parameters(
    resetsOnFork: Bool? = nil
  ) throws(ThreadingError) -> SystemScheduling.Parameters {
    try validate()
    if case .deadline = self, resetsOnFork == false {
      throw .invalidPolicy(
        "a deadline cannot be inherited: the thread could start no other, and not fork")
    }
    var result: SystemScheduling.Parameters
    switch self {
    case .other(let nice), .batch(let nice):
      if case .other = self {
        result = .init(policy: .other)
      } else {
        result = .init(policy: .batch)
      }
      result.nice = Int32(nice)
      result.resetsOnFork = nice < 0
    case .idle:
      result = .init(policy: .idle)
    case .fifo(let priority):
      result = .init(policy: .fifo)
      result.priority = UInt32(priority)
      result.resetsOnFork = true
    case .roundRobin(let priority):
      result = .init(policy: .roundRobin)
      result.priority = UInt32(priority)
      result.resetsOnFork = true
    case .deadline(let runtime, let deadline, let period):
      result = .init(policy: .deadline)
      result.runtime = UInt64(runtime.saturatedNanoseconds)
      result.deadline = UInt64(deadline.saturatedNanoseconds)
      result.period = UInt64(period.saturatedNanoseconds)
      result.resetsOnFork = true
    }
    if let resetsOnFork { result.resetsOnFork = resetsOnFork }
    return result
  }

  init(_ parameters: SystemScheduling.Parameters) {
    switch parameters.policy {
    case .other: self = .other(nice: Int(parameters.nice))
    case .batch: self = .batch(nice: Int(parameters.nice))
    case .idle: self = .idle
    case .fifo: self = .fifo(priority: Int(parameters.priority))
    case .roundRobin: self = .roundRobin(priority: Int(parameters.priority))
    case .deadline:
      self = .deadline(
        runtime: .nanoseconds(Int64(clamping: parameters.runtime)),
        deadline: .nanoseconds(Int64(clamping: parameters.deadline)),
        period: .nanoseconds(Int64(clamping: parameters.period)))
    }
  }
}

extension ThreadingError {
  fileprivate static func invalidPolicy(_ reason: String) -> ThreadingError {
    .refused(by: "SchedulingPolicy", code: .invalid, reason)
  }
}
