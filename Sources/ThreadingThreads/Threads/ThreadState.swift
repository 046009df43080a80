/// How far a thread has come in its life. It only moves forward, but for a start that the system
/// refuses, which leads back to ``notStarted``.
public enum ThreadState: Sendable, Hashable, CaseIterable {
  /// There is no thread in the system yet.
  case notStarted
  /// The system is being asked for the thread.
  case starting
  /// The thread exists. Its body runs, is about to, or has returned while its storage is cleared.
  case running
  /// The body has returned, exit hooks have run, what the thread stored has been released and its
  /// thread-local destructors have run.
  case finished
}
