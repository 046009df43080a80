/// The classes of service that threads are commonly sorted into, and what Linux has for them.
///
/// What is in force is read back by ``ThreadHandle/scheduling()`` and its
/// ``SchedulingPolicy/nearestQuality``. Only ``userInteractive`` needs a right; without it a start is
/// refused, or, with ``ThreadAttributes/isSchedulingRequired`` false, the thread is scheduled as its
/// starter is.
public enum ThreadQuality: Sendable, Hashable, CaseIterable {
  /// People watch each step: nice -5, which needs the right to lower the nice value.
  case userInteractive
  /// People wait for the outcome: nice 0.
  case userInitiated
  /// Nothing said: nice 0.
  case `default`
  /// People see progress, and need not wait: nice 5.
  case utility
  /// Nobody notices: nice 19, with batch scheduling.
  case background

  /// The policy that stands for the class.
  public var policy: SchedulingPolicy {
    switch self {
    case .userInteractive: .other(nice: -5)
    case .userInitiated, .default: .other(nice: 0)
    case .utility: .other(nice: 5)
    case .background: .batch(nice: 19)
    }
  }
}
