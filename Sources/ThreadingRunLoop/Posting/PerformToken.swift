internal import Synchronization
public import ThreadingPlatform

/// Takes back blocks that were posted to loops: those that were posted with the token and have not
/// begun.
///
/// One token can go with any number of blocks, on any loops: all work done for one window, request
/// or user can be taken back together.
///
/// ```swift
/// let token = PerformToken()
/// loop.perform(with: token) { show(result) }
/// token.cancel()
/// ```
///
/// - Note: Safe to use from any thread.
public final class PerformToken: Sendable {
  private let flag = Atomic<Bool>(false)

  /// A token that is not cancelled.
  public init() {}

  /// Whether the blocks have been taken back.
  public var isCancelled: Bool {
    // acquiring: pairs with the release in cancel().
    flag.load(ordering: .acquiring)
  }

  /// Takes the blocks back, for good: what is posted with the token later does not run either.
  ///
  /// After the call none of them begins; one that has begun may still be going on. They are released
  /// when their loop comes to them.
  public func cancel() {
    // releasing: pairs with the acquire in isCancelled.
    flag.store(true, ordering: .releasing)
  }
}

extension ThreadRunLoop {
  /// Has the loop's thread run a block, unless the token is cancelled before it comes to it.
  ///
  /// As ``perform(in:_:)`` otherwise.
  ///
  /// - Returns: Whether the loop has the block: false only when its thread has ended.
  @discardableResult
  public func perform(
    with token: PerformToken, in modes: ModeSet = .common, _ block: @escaping @Sendable () -> Void
  ) -> Bool {
    perform(in: modes) {
      if !token.isCancelled { block() }
    }
  }

  /// Has the loop's thread run a block after some time.
  ///
  /// - Parameters:
  ///   - delay: From now; zero or less means the next pass.
  ///   - tolerance: How much later it may run, so that several delays can share a wake-up.
  ///   - modes: The modes in which the block may run.
  ///   - block: What to run.
  /// - Returns: The timer of the delay: cancelling it takes the block back.
  /// - Throws: EINVAL for a negative tolerance, ESRCH when the loop's thread has ended.
  @discardableResult
  public func perform(
    after delay: Duration, tolerance: Duration = .zero, in modes: ModeSet = .common,
    _ block: @escaping @Sendable () -> Void
  ) throws(ThreadingError) -> ThreadTimer {
    let timer = try ThreadTimer(after: delay, tolerance: tolerance) { _ in block() }
    try add(timer, in: modes)
    return timer
  }
}
