internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// Any thread of the process, seen from anywhere: those that this package started, the main thread,
/// and threads of other origin, which get a handle when they first ask for it.
///
/// A handle outlives its thread: what is asked of an ended thread has a defined answer and touches
/// no system handle.
public final class ThreadHandle: Sendable {
  /// The kernel's id of the thread (`gettid(2)`).
  public let kernelID: UInt32

  /// What the layers above keep per thread. Only touched by the thread itself.
  // SAFETY: `storage` is reached through `ThreadHandle.current` alone, thus by its own thread.
  private nonisolated(unsafe) var runLoopStorage: AnyObject?
  private nonisolated(unsafe) var endHooks: [() -> Void] = []

  private init() {
    kernelID = SystemThread.currentID
  }

  /// The calling thread. Costs a thread-local read; the first call on a thread makes the handle.
  public static var current: ThreadHandle {
    if let record = ThreadRecordSlot.current {
      return unsafe unsafeDowncast(record, to: ThreadHandle.self)
    }
    let made = ThreadHandle()
    ThreadRecordSlot.install(made)
    return made
  }

  /// Whether this is the calling thread.
  public var isCurrent: Bool { kernelID == SystemThread.currentID }

  /// The run loop of the thread. Only for the thread itself.
  package var runLoop: AnyObject? {
    get {
      precondition(isCurrent, "ThreadHandle.runLoop: not the calling thread")
      return unsafe runLoopStorage
    }
    set {
      precondition(isCurrent, "ThreadHandle.runLoop: not the calling thread")
      unsafe runLoopStorage = newValue
    }
  }

  /// Has `hook` called on the thread when it ends, before its storage goes; the last added is
  /// called first. Only for the thread itself.
  package func atEnd(_ hook: @escaping () -> Void) {
    precondition(isCurrent, "ThreadHandle.atEnd: not the calling thread")
    unsafe endHooks.append(hook)
  }
}

extension ThreadHandle: ThreadRecordObject {
  package func threadWillEnd() {
    while let hook = unsafe endHooks.popLast() { hook() }
    unsafe runLoopStorage = nil
  }
}
