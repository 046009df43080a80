internal import CThreadingPlatform
internal import Glibc

/// How the kernel schedules threads, by kernel id: the only code that calls `sched_setattr` and
/// `sched_setaffinity`.
package enum SystemScheduling {
  /// The kernel's policies (`SCHED_OTHER` and its kin).
  package enum Policy: UInt32, Sendable {
    case other = 0
    case fifo = 1
    case roundRobin = 2
    case batch = 3
    case idle = 5
    case deadline = 6
  }

  /// The fields of `sched_setattr(2)`; times in nanoseconds.
  package struct Parameters: Sendable, Hashable {
    package var policy: Policy
    package var resetsOnFork = false
    package var nice: Int32 = 0
    package var priority: UInt32 = 0
    package var runtime: UInt64 = 0
    package var deadline: UInt64 = 0
    package var period: UInt64 = 0

    package init(policy: Policy) {
      self.policy = policy
    }
  }

  private static let resetOnForkFlag: UInt64 = 1

  /// The static priorities of a real-time policy, as the running system has them.
  package static func priorityRange(of policy: Policy) -> ClosedRange<Int> {
    let number = CInt(policy.rawValue)
    return Int(sched_get_priority_min(number))...Int(sched_get_priority_max(number))
  }

  /// Sets how a thread is scheduled.
  ///
  /// - Parameters:
  ///   - parameters: how.
  ///   - thread: its kernel id, or 0 for the calling one.
  /// - Throws: EPERM, EINVAL, EBUSY (deadline admission) or ESRCH.
  package static func set(_ parameters: Parameters, of thread: UInt32) throws(ThreadingError) {
    var native = ctp_scheduling()
    native.size = UInt32(MemoryLayout<ctp_scheduling>.size)
    native.policy = parameters.policy.rawValue
    native.flags = parameters.resetsOnFork ? resetOnForkFlag : 0
    native.nice = parameters.nice
    native.priority = parameters.priority
    native.runtime = parameters.runtime
    native.deadline = parameters.deadline
    native.period = parameters.period
    let code = unsafe ctp_scheduling_set(thread, &native)
    guard code == 0 else { throw .refused("sched_setattr", code) }
  }

  /// How a thread is scheduled.
  ///
  /// - Parameter thread: its kernel id, or 0 for the calling one.
  /// - Returns: nil for a policy that this package does not know.
  /// - Throws: ESRCH.
  package static func parameters(of thread: UInt32) throws(ThreadingError) -> Parameters? {
    var native = ctp_scheduling()
    let code = unsafe ctp_scheduling_get(thread, &native)
    guard code == 0 else { throw .refused("sched_getattr", code) }
    guard let policy = Policy(rawValue: native.policy) else { return nil }
    var parameters = Parameters(policy: policy)
    parameters.resetsOnFork = native.flags & resetOnForkFlag != 0
    parameters.nice = native.nice
    parameters.priority = native.priority
    parameters.runtime = native.runtime
    parameters.deadline = native.deadline
    parameters.period = native.period
    return parameters
  }

  /// How a thread is scheduled that another starts and that says nothing of it.
  ///
  /// - Parameter thread: the starter's kernel id, or 0 for the calling one.
  /// - Returns: nil if the system does not tell.
  package static func ofThreadsStarted(by thread: UInt32) -> Parameters? {
    guard var known = try? parameters(of: thread) else { return nil }
    let isPrivileged = [.fifo, .roundRobin, .deadline].contains(known.policy) || known.nice < 0
    if known.resetsOnFork && isPrivileged { known = Parameters(policy: .other) }
    known.resetsOnFork = false
    return known
  }

  /// Sets the processors that a thread may run on.
  ///
  /// - Parameters:
  ///   - mask: bit n of word n / 64 stands for processor n.
  ///   - thread: its kernel id, or 0 for the calling one.
  /// - Throws: EINVAL when no processor of the mask may be used, EPERM or ESRCH.
  package static func setAffinity(_ mask: [UInt64], of thread: UInt32) throws(ThreadingError) {
    let code = unsafe mask.withUnsafeBytes { bytes in
      // An empty mask has no address; the kernel refuses it as it does one without bits.
      guard let address = bytes.baseAddress else { return EINVAL }
      return unsafe ctp_affinity_set(thread, address, bytes.count)
    }
    guard code == 0 else { throw .refused("sched_setaffinity", code) }
  }

  /// The processors that a thread may run on.
  ///
  /// - Parameter thread: its kernel id, or 0 for the calling one.
  /// - Returns: a mask as for ``setAffinity(_:of:)``.
  /// - Throws: ESRCH.
  package static func affinity(of thread: UInt32) throws(ThreadingError) -> [UInt64] {
    // The kernel's mask may be larger than the usual 1,024 bits: asked with growing room.
    var words = 16
    while true {
      var mask = [UInt64](repeating: 0, count: words)
      let size = words * 8
      let count = unsafe mask.withUnsafeMutableBytes { bytes in
        unsafe bytes.baseAddress.map { unsafe ctp_affinity_get(thread, $0, size) } ?? -EINVAL
      }
      if count >= 0 { return mask }
      guard count == -EINVAL && words < 1 << 13 else {
        throw .refused("sched_getaffinity", -count)
      }
      words *= 2
    }
  }
}
