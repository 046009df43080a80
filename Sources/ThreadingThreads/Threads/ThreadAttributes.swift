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
  /// nil leaves the thread without a name; the system then lists it under the program's name.
  public var name: String?

  /// The size of the stack in bytes. It is rounded up to whole pages of memory.
  ///
  /// The size is what the system sets aside in all. On Linux the C library takes a guard of one page
  /// at the far end, and the thread's own thread-local variables, out of it. It also keeps stacks of
  /// ended threads and may use one again that is up to four times as large as what is asked for.
  ///
  /// nil takes the process's default: on Linux the limit `RLIMIT_STACK` at the program's start,
  /// mostly 8 MiB, of which only the pages that are touched use memory.
  public var stackSize: Int?

  /// Whether the thread is started detached: it cannot be joined, and the system frees it by itself
  /// when it ends.
  public var isDetached: Bool

  /// Bytes that are kept inaccessible at the far end of the stack, so that running over it stops the
  /// program instead of overwriting what lies there. Rounded up to whole pages; nil takes one page, 0
  /// none. The C library may take them out of the stack size.
  ///
  /// Foundation does not let the guard be chosen: `FoundationThread` refuses a value.
  public var guardSize: Int?

  /// Signals that are blocked for the thread from its first moment, by number, beside those that its
  /// starter has blocked; the starter's own mask is as before. Signals to the process then go to other
  /// threads.
  public var blockedSignals: Set<Int32> = []

  /// How the kernel shares processors out to the thread; nil leaves it as its starter is scheduled, but
  /// for real-time policies and negative nice values set by this package, which are not inherited.
  public var scheduling: SchedulingPolicy?

  /// Whether a thread that is not given its ``scheduling`` is not to run at all: starting it then
  /// throws. Otherwise it runs as the system lets it, which ``ThreadHandle/scheduling()`` tells.
  public var isSchedulingRequired = true

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
  /// (which depends on the processor and on the program's thread-local variables) and
  /// 16 KiB more, which Swift needs where code meets a generic type for the first time.
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

  /// Checks all values, as starting a thread does.
  ///
  /// - Throws: a ``ThreadingError`` with the code `EINVAL` that names the value and the limit.
  public func validate() throws(ThreadingError) {
    _ = try roundedStackSize()
    try checkGuardAndSignals()
    try scheduling?.validate()
    try cpus?.checkAllowed(by: "ThreadAttributes.cpus")
  }

  package func checkGuardAndSignals() throws(ThreadingError) {
    let most = Self.maximumStackSize
    if let size = guardSize, !(0...most).contains(size) {
      throw .refused(
        by: "ThreadAttributes.guardSize", code: .invalid,
        "a guard of \(size) bytes is outside 0...\(most)")
    }
    if let wrong = blockedSignals.sorted().first(where: { !SystemThread.canBlock($0) }) {
      throw .refused(
        by: "ThreadAttributes.blockedSignals", code: .invalid,
        "signal \(wrong) does not exist or cannot be blocked")
    }
  }

  /// The stack size that a thread gets, in whole pages; nil for the process's default.
  package func roundedStackSize() throws(ThreadingError) -> Int? {
    guard let asked = stackSize else { return nil }
    let least = Self.minimumStackSize
    let most = Self.maximumStackSize
    guard asked >= least else {
      throw .invalidStackSize("\(asked) bytes is below the minimum of \(least) bytes")
    }
    guard asked <= most else {
      throw .invalidStackSize("\(asked) bytes is above the maximum of \(most) bytes")
    }
    let page = SystemThread.pageSize
    // Not (asked + page - 1), which is too large a number for the maximum.
    return (asked - 1) / page * page + page
  }
}

extension ThreadingError {
  fileprivate static func invalidStackSize(_ reason: String) -> ThreadingError {
    .refused(by: "ThreadAttributes.stackSize", code: .invalid, "a stack size of \(reason)")
  }
}
