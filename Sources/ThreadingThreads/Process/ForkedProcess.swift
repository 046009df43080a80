internal import ThreadingPlatform

/// What is left of the threads after a `fork`.
///
/// A child process made by `fork` has a copy of all memory and one thread: the one that forked. The other
/// threads are gone in the middle of what they were doing, with the locks that they held.
///
/// What is safe in the child:
///
/// - Calls that are safe in a signal handler, first of all `execve` and `_exit`. If the parent had
///   other threads, POSIX promises no more, and `malloc` is an extra of the C library.
/// - Of this package, whatever the parent's threads were doing: everything about threads. The child may
///   start threads, with locks, loops and queues of their own. The thread that forked keeps its
///   handle, dictionary, thread-local values, handlers of cancellation and the scopes that it has entered,
///   and gets a new run loop. It is the main thread only if the parent's main thread forked: if not,
///   ``ThreadHandle/main`` is a thread of the parent's.
/// - Also whatever they were doing: asking about the parent's threads. ``ThreadHandle/isLostToFork`` is
///   true for them. Their names can be read and set. A join of one, or a call that needs it alive, is an
///   error (`ESRCH`) that says so; what it had returned before the fork can still be had by a join.
///   Their dictionaries are empty, and their values of visible thread-local variables are not seen.
///   Cancelling one sets its mark and calls no handler, and tasks that wait for the end of a thread do not
///   go on. A scope of threads does not wait for them.
/// - Locks and other objects of this package that were made before, as long as no thread of the parent
///   was inside the object at the moment of the fork; and everything that is made anew.
///
/// What is not:
///
/// - A lock that another thread held at the moment of the fork stays locked. So do objects of the
///   standard library, Foundation and Dispatch, which hold locks of their own; and the Swift runtime's:
///   the first use of a generic type, or of a global variable that another thread was just making, may
///   wait for ever. A child that only calls what the parent has called before does not meet that, except
///   under the thread sanitizer, for which the runtime takes a lock at each use of such things.
/// - A scope of threads that another thread of the parent's had entered: only the thread that entered it
///   may use it in the child, which is to say, the one that forked.
/// - A thread that was made but not started before the fork, by several threads of the child at once. It
///   is to be used by one of them, until it has been started.
/// - A handler of another library's for forks (`pthread_atfork`) that calls this package between its own and
///   the fork: the locks are taken then, and such a call waits for its own thread.
/// - Pools, operation queues and loops of the parent have lost their threads: what is added to them
///   does not run, and waiting for it does not end.
public enum ForkedProcess {
  /// Whether this process was made by a `fork` without an `exec` after it: threads that the parent
  /// had are gone. Costs a load.
  public static var isCurrent: Bool { generation != 0 }

  /// How many forks lie between this process and the one that was executed: 0 for an ordinary process.
  /// What is remembered with another number was made by an ancestor, and may have belonged to its
  /// threads. Costs a load.
  public static var generation: Int { Int(SystemProcess.forkGeneration) }
}
