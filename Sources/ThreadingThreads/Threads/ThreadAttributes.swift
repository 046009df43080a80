internal import Synchronization
public import ThreadingPlatform

/// What a thread is started with. The same attributes serve both families of threads.
///
/// ```swift
/// var attributes = ThreadAttributes(name: "importer")
/// attributes.stackSize = 256 * 1024
/// let thread = try PosixThread.start(attributes) { importFeed() }
/// ```
///
/// An attribute that is nil takes the process's default. Values are checked when a thread is
/// started, or earlier by ``validate()``: a bad value is an error that names the limit, and is never
/// replaced by another value in silence.
public struct ThreadAttributes: Sendable, Hashable {
  /// The thread's name, of any length. The system's listings (`ps`, debuggers) show as much of it as
  /// the system keeps: on Linux whole characters within 15 bytes.
  ///
  /// nil leaves the thread without a name; the system then lists it under the program's name, whatever
  /// its starter is called. (A starter that is renamed behind the toolkit's back, by `prctl` or
  /// `pthread_setname_np` on a thread of ours without a name, passes that name on, as the kernel does.)
  public var name: String?

  /// The size of the stack in bytes: what the thread's own frames can take, at least.
  ///
  /// The guard, the program's thread-local variables and the C library's record of the thread come on
  /// top, and the whole is rounded up to whole pages of memory. The C library also keeps stacks of
  /// ended threads and may use one again that is up to four times as large as what is asked for.
  /// ``ThreadHandle/stackUsage()`` tells what a thread really has.
  ///
  /// nil takes ``defaultStackSize``.
  public var stackSize: Int?

  /// Memory of the caller's to be used as the stack; nil lets the C library find it. A size or guard
  /// cannot be chosen then, and the thread must be joinable.
  ///
  /// Foundation does not let the memory be chosen: `FoundationThread` refuses it.
  public var stack: ThreadStack?

  /// Whether the stack is cleaned before the body runs, so that ``StackUsage/highWaterMark`` tells of
  /// this thread alone. Costs a system call, and new pages for what an ended thread had left.
  public var isStackMeasured = false

  /// Whether the thread is started detached: it cannot be joined, and the system frees it by itself
  /// when it ends.
  public var isDetached: Bool

  /// Bytes that are kept inaccessible beyond the far end of the stack, so that running over it stops the
  /// program instead of overwriting what lies there. They are not taken out of the stack size.
  ///
  /// Rounded up to whole pages of memory; nil takes one page, 0 none. What is in force is read back by
  /// ``StackUsage/guardSize``. A frame larger than the guard can jump over it.
  ///
  /// Foundation does not let the guard be chosen: `FoundationThread` refuses a value.
  public var guardSize: Int?

  /// Signals that are blocked for the thread from its first moment, by number, beside those that its
  /// starter has blocked; the starter's own mask is as before. Signals to the process then go to other
  /// threads. What is in force is read back by ``ThreadHandle/blockedSignals()``.
  public var blockedSignals: Set<Int32> = []

  /// How the kernel shares processors out to the thread; nil leaves it as its starter is scheduled, but
  /// for real-time policies and negative nice values set by this package, which are not inherited.
  public var scheduling: SchedulingPolicy?

  /// Whether what the thread starts, threads and forked processes, is put back to the usual scheduling if
  /// the thread's own is privileged: a real-time policy becomes `other(nice: 0)`, and so does a
  /// negative nice value. What is no privilege is inherited all the same. (`SCHED_RESET_ON_FORK`.)
  ///
  /// nil sets the mark for policies that are privileged, and for no others. true sets it whatever the
  /// policy, also with a ``scheduling`` of nil; only a process with a right (`CAP_SYS_NICE`) can take it
  /// back. false leaves it out, so that what is privileged is inherited; with a deadline policy that is
  /// an error (`EINVAL`), since such a thread could start nothing. What is in force is read back by
  /// ``ThreadHandle/resetsSchedulingOnFork()``.
  public var resetsSchedulingOnFork: Bool?

  /// Whether a thread that is not given its ``scheduling`` is not to run at all: starting it then
  /// throws. Otherwise it runs as the system lets it, which ``ThreadHandle/scheduling()`` tells.
  public var isSchedulingRequired = true

  /// Whether the process stays open until the thread has ended: when the main thread returns or `exit` is
  /// called, the exit waits for it. The thread may be detached, or its object may have gone away.
  ///
  /// The wait comes where the handlers of `atexit` are called: before those that were registered before
  /// the first such thread was started, and after those registered later. The thread that exits does
  /// not wait for itself, and other threads run on meanwhile. While the process is waiting, such a thread
  /// is to return and not to exit: a C library that lets one exit run at a time (glibc from 2.41 on)
  /// would have the two wait for each other. The status of the process is the one that
  /// `exit` was given.
  ///
  /// Only an exit of this kind waits. A signal that ends the process, `abort`, `fatalError`, `_exit`
  /// and `quick_exit` end it at once, and so does an exit in a forked child for the parent's threads. A
  /// thread that never ends keeps the process for ever.
  public var keepsProcessOpen = false

  /// The processors that the thread may run on; nil gives it all that the process may use.
  public var cpus: CPUSet?

  /// Attributes with the given values; by default those of a joinable, unnamed thread.
  public init(
    name: String? = nil, stackSize: Int? = nil, isDetached: Bool = false,
    scheduling: SchedulingPolicy? = nil, cpus: CPUSet? = nil
  ) {
    self.name = name
    self.stackSize = stackSize
    self.isDetached = isDetached
    self.scheduling = scheduling
    self.cpus = cpus
  }

  /// The smallest ``stackSize`` that can be asked for, in bytes: what the running system requires
  /// (which depends on the processor) and 16 KiB more, which Swift needs where code meets a generic type
  /// for the first time.
  ///
  /// Such a stack is enough for a few plain calls. Code that formats strings or touches Foundation
  /// wants 64 KiB or more.
  public static var minimumStackSize: Int { SystemThread.minimumStackSize + 16_384 }

  /// The largest ``stackSize`` that can be asked for: the largest number of whole pages. How much
  /// the system really grants depends on its memory.
  public static var maximumStackSize: Int {
    let page = SystemThread.pageSize
    return Int.max / page * page
  }

  /// The ``stackSize`` of threads of this package that do not say: what was set by
  /// ``setDefaultStackSize(_:)``, or else the system's default. That is on Linux the limit
  /// `RLIMIT_STACK` at the program's start, mostly 8 MiB, of which only the pages that are touched use
  /// memory; the thread-local variables are taken out of it.
  public static var defaultStackSize: Int {
    chosenDefaultStackSize ?? SystemThread.systemDefaultStackSize
  }

  /// Sets the ``stackSize`` of threads of this package that do not say. Threads that run already keep
  /// what they have; threads that others start are not concerned.
  ///
  /// - Parameter size: in bytes; nil goes back to the system's default.
  /// - Throws: a ``ThreadingError`` (`EINVAL`) for a size below ``minimumStackSize`` or above
  ///   ``maximumStackSize``. The default is as before then.
  public static func setDefaultStackSize(_ size: Int?) throws(ThreadingError) {
    if let size { _ = try rounded(size, "ThreadAttributes.defaultStackSize") }
    // relaxed: no data goes with the number.
    defaultSize.store(size ?? 0, ordering: .relaxed)
  }

  private static let defaultSize = Atomic<Int>(0)

  /// See ``ForkGuard``.
  static func makeValues() { _ = defaultSize.load(ordering: .relaxed) }

  private static var chosenDefaultStackSize: Int? {
    let size = defaultSize.load(ordering: .relaxed)
    return size == 0 ? nil : size
  }

  /// Checks all values, as starting a thread does.
  ///
  /// - Throws: a ``ThreadingError`` with the code `EINVAL` that names the value and the limit.
  public func validate() throws(ThreadingError) {
    _ = try roundedStackSize()
    try checkGuardAndSignals()
    try checkStack()
    _ = try scheduling?.parameters(resetsOnFork: resetsSchedulingOnFork)
    try cpus?.checkAllowed(by: "ThreadAttributes.cpus")
  }

  package func checkGuardAndSignals() throws(ThreadingError) {
    if let size = guardSize {
      let most = Self.maximumStackSize
      guard (0...most).contains(size) else {
        throw .refused(
          by: "ThreadAttributes.guardSize", code: .invalid,
          "a guard of \(size) bytes is outside 0...\(most)")
      }
    }
    if blockedSignals.isEmpty { return }
    if let wrong = blockedSignals.sorted().first(where: { !SystemThread.canBlock($0) }) {
      throw .refused(
        by: "ThreadAttributes.blockedSignals", code: .invalid,
        "signal \(wrong) does not exist or cannot be blocked")
    }
  }

  /// Whether the values go with a stack of the caller's, if there is one.
  package func checkStack() throws(ThreadingError) {
    guard stack != nil else { return }
    let reason: String? =
      if stackSize != nil {
        "the stack has a size of its own: stackSize must be nil"
      } else if guardSize != nil {
        "the guard of a stack of the caller's is the caller's: guardSize must be nil"
      } else if isDetached {
        "a thread on a stack of the caller's must be joinable, since only a join tells when it is left"
      } else {
        nil
      }
    if let reason { throw .refused(by: "ThreadAttributes.stack", code: .invalid, reason) }
  }

  /// The guard that a thread gets, in whole pages; nil for the system's default.
  package var roundedGuardSize: Int? {
    guard let guardSize, guardSize > 0 else { return guardSize }
    let page = SystemThread.pageSize
    return (guardSize - 1) / page * page + page
  }

  /// The stack size that a thread gets, in whole pages; nil for the system's default.
  package func roundedStackSize() throws(ThreadingError) -> Int? {
    if stack != nil { return nil }
    guard let asked = stackSize ?? Self.chosenDefaultStackSize else { return nil }
    return try Self.rounded(asked, "ThreadAttributes.stackSize")
  }

  private static func rounded(_ asked: Int, _ name: String) throws(ThreadingError) -> Int {
    let least = minimumStackSize
    let most = maximumStackSize
    guard asked >= least else {
      throw .refused(
        by: name, code: .invalid,
        "a stack size of \(asked) bytes is below the minimum of \(least) bytes")
    }
    guard asked <= most else {
      throw .refused(
        by: name, code: .invalid,
        "a stack size of \(asked) bytes is above the maximum of \(most) bytes")
    }
    let page = SystemThread.pageSize
    // Not (asked + page - 1), which is too large a number for the maximum.
    return (asked - 1) / page * page + page
  }
}
