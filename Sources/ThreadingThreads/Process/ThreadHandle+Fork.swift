internal import CThreadingPlatform
internal import Synchronization
internal import ThreadingLocks
internal import ThreadingPlatform

/// What a handle does about a fork.
extension ThreadHandle {
  /// Calls `body` with the calling thread's handle, if it has taken it up.
  static func withCurrentIfAny(_ body: (ThreadHandle) -> Void) {
    guard let record = unsafe ctp_get_thread_record() else { return }
    // SAFETY: only handles are put there, see ThreadRecordSlot, and it stays there during the call.
    unsafe Unmanaged<ThreadHandle>.fromOpaque(record)._withUnsafeGuaranteedRef { body($0) }
  }

  /// The calling thread, whose handle this is, is about to fork; see ``ForkGuard``.
  func beforeFork() {
    lock.lock()
    lock.freeInForkedChild()
    cancellation.beforeFork()
    values.beforeFork()
    for scope in unsafe local.scopes { scope.beforeFork() }
    // The thread goes on as the child's first.
    SystemProcess.store(.threadID, in: identifier)
    SystemProcess.store(.generation, in: birthplace)
  }

  func afterForkInParent() {
    for scope in unsafe local.scopes.reversed() { scope.afterForkInParent() }
    values.afterForkInParent()
    cancellation.afterForkInParent()
    lock.unlock()
  }

  /// Notes that the calling thread, whose handle this is, has entered a scope.
  func enter(_ scope: ThreadScope) { unsafe local.scopes.append(scope) }

  /// Notes that the thread has left the scope that it entered last.
  func leaveScope() { unsafe local.scopes.removeLast() }
}
