/// A handler that waits for a thread's cancellation; see ``ThreadHandle/onCancel(_:)``.
///
/// Letting go of this object leaves the handler in force.
///
/// - Note: Safe to use from any thread.
public final class CancellationHandler: Sendable {
  private let thread: ThreadHandle
  private let number: Int?

  init(of thread: ThreadHandle, _ number: Int?) {
    self.thread = thread
    self.number = number
  }

  /// Takes the handler back. When this returns, the handler is not running and will not run: if it is
  /// being called at this moment by another thread, the call waits for it. May be called any number of
  /// times, also by the handler itself.
  public func remove() {
    if let number, !thread.isLostToFork { thread.cancellation.remove(number) }
  }
}
