internal import Foundation
internal import Synchronization
internal import Threading
internal import ThreadingPlatform

/// One try to have Foundation start a thread.
///
/// Foundation drops the answer of `pthread_create`, so a refusal can only be guessed, from the `errno`
/// that the C library leaves behind. The guess need not be right: the starter and the thread, if there
/// is one, settle it between them on one word, so that either the thread runs and the start has
/// succeeded, or the start has failed and the thread ends without running anything.
final class StartAttempt: @unchecked Sendable {
  // SAFETY of @unchecked: `thread` is not changed after the start; `body` is taken by whoever moves
  // `claim` away from `open`, which happens once.

  let thread: Foundation.Thread
  private let shared: Shared

  /// What the starter and the thread have in common.
  private final class Shared: @unchecked Sendable {
    // State      | meaning                                    | leaves by
    // 0 open     | the thread has not been seen               | thread -> taken, starter -> given up
    // 1 taken    | the thread runs the body                   | never
    // 2 given up | the start has failed                       | never
    let claim = Atomic<UInt32>(0)
    var body: (@Sendable () -> Void)?

    init(body: @escaping @Sendable () -> Void) {
      self.body = body
    }

    /// - Returns: the body, for whoever comes first.
    func take(_ state: UInt32) -> (@Sendable () -> Void)? {
      // relaxed: the thread's start orders what it reads; the starter reads nothing of the thread's.
      let (taken, _) = claim.compareExchange(expected: 0, desired: state, ordering: .relaxed)
      guard taken else { return nil }
      defer { body = nil }
      return body
    }
  }

  init(body: @escaping @Sendable () -> Void) {
    let shared = Shared(body: body)
    self.shared = shared
    thread = Foundation.Thread { shared.take(1)?() }
  }

  /// The stack size that was asked for.
  private var asked: Int?

  func setStackSize(_ usable: Int) throws(ThreadingError) {
    asked = usable
    let size = try SystemThread.stackSize(forUsable: usable)
    thread.stackSize = size
    // Foundation replaces, in silence, what it does not like.
    guard thread.stackSize == size else {
      throw .refused(
        by: "ThreadAttributes.stackSize", code: .invalid,
        "Foundation does not take a stack size of \(usable) bytes: its limit is \(thread.stackSize)"
      )
    }
  }

  func start(blocking signals: Set<Int32>) throws(ThreadingError) {
    let code = SystemThread.withSignalsBlocked(signals) {
      SystemThread.lastError = 0
      thread.start()
      return SystemThread.lastError
    }
    guard SystemThread.isRefusalOfThread(code) else { return }
    // Something failed. If it was not the start, the thread comes first here or is told to leave.
    if shared.take(2) != nil {
      throw .refusedThread(code, stackSize: asked)
    }
  }
}
