/// The umbrella of the toolkit: one import for locks, threads, run loops and operations.
///
/// It re-exports the layers and holds no code of its own. It does not load Foundation; what needs
/// Foundation is in `ThreadingFoundation`.
@_exported import ThreadingLocks
@_exported import ThreadingOperations
@_exported import ThreadingPlatform
@_exported import ThreadingRunLoop
@_exported import ThreadingThreads
