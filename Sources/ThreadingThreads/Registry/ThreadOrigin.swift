/// Who started a thread.
public enum ThreadOrigin: Sendable, Hashable, CaseIterable {
  /// It is the process's main thread.
  case main
  /// A ``PosixThread``.
  case posix
  /// A `FoundationThread`.
  case foundation
  /// Somebody else: Dispatch, the concurrency runtime, Foundation by itself, a C library.
  case other
}
