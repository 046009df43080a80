public import ThreadingThreads

extension ThreadPool {
  /// The pool that all work of one quality shares. For ``ThreadQuality/default`` and
  /// ``ThreadQuality/userInitiated``, which are the same to the system, it is ``shared``.
  ///
  /// Each quality has threads of its own, since a thread whose priority has been lowered cannot raise it again
  /// without a privilege. Where the system refuses a quality (``ThreadQuality/userInteractive`` needs the right to
  /// negative nice values), the threads run as others do.
  ///
  /// - Parameter quality: what the threads are started with.
  /// - Returns: the pool; its threads are started when they are first needed.
  public static func shared(_ quality: ThreadQuality) -> ThreadPool {
    switch quality {
    case .default, .userInitiated: shared
    case .userInteractive: interactive
    case .utility: utility
    case .background: background
    }
  }

  private static let interactive = sharing(.userInteractive)
  private static let utility = sharing(.utility)
  private static let background = sharing(.background)

  private static func sharing(_ quality: ThreadQuality) -> ThreadPool {
    var attributes = ThreadAttributes(name: "pool \(quality)", scheduling: quality.policy)
    attributes.isSchedulingRequired = false
    return ThreadPool(
      PoolCore(
        minimum: 0, maximum: 256, closureWidth: shared.core.closureWidth, idleTimeout: .seconds(10),
        attributes: attributes))
  }
}
