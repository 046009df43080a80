public import CThreadingPlatform
internal import Synchronization
internal import ThreadingLocks
public import ThreadingPlatform

/// Any thread of the process, seen from anywhere: those that this package started, the main thread,
/// and threads of other origin, which get a handle when they first ask for it.
///
/// A handle outlives its thread: what is asked of an ended thread has a defined answer and touches
/// no system handle.
///
/// - Note: Safe to use from any thread.
public final class ThreadHandle: Sendable {
  let phase: ThreadPhase

  /// The kernel's id; 0 before the thread has stored it.
  let identifier: Atomic<UInt32>

  /// The system's handle, 0 before the thread has stored it.
  private let systemNumber = Atomic<UInt>(0)

  @usableFromInline let cancellation = ThreadCancellation()

  /// Whether the thread has processors of its own, or is just being given some.
  ///
  /// sequentially consistent, with the store before the system is told: a new thread that has inherited
  /// them from its creator was made after it, and reads what was stored.
  private let pinned = Atomic<Bool>(false)
  var isPinned: Bool {
    get { pinned.load(ordering: .sequentiallyConsistent) }
    set { pinned.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// Whether the system lists the thread under the program's name, and has been told no other one since
  /// the thread was there: an unnamed thread that it starts then need not be told its name.
  ///
  /// sequentially consistent, with the store before the system is told another name: a new thread that
  /// has inherited that name from its creator was made after it, and reads what was stored.
  let listedAsProgram = Atomic<Bool>(false)

  /// How many threads wait for this one's end without a limit, see `withUnlimitedWait`.
  let joiners = Atomic<Int>(0)

  /// The thread that waits for this one's end because it has entered a scope in which this one was
  /// started; nil for a thread of no scope.
  // SAFETY of nonisolated(unsafe): written before the thread is started, which happens before all reads.
  nonisolated(unsafe) var scopeOwner: ThreadHandle?

  /// What the thread's dictionary holds.
  @usableFromInline let values = ThreadValues()

  /// Who started the thread.
  public let origin: ThreadOrigin

  /// The process that the thread was started in: how many forks it is away from the one that was
  /// executed. relaxed: a fork orders everything.
  let birthplace = Atomic<UInt32>(SystemProcess.forkGeneration)

  /// Where the thread stands in the list of live threads, see ``ThreadRegistry``.
  // SAFETY of nonisolated(unsafe): only touched with the lock of the list held.
  nonisolated(unsafe) var place = ThreadRegistry.Place()

  /// Guards `record`, and is held by whoever uses the system's handle of a live thread that is not
  /// the caller: the thread takes it to end, so it cannot end meanwhile.
  let lock = FastMutex()

  /// Stands in for the `lock` of all handles that are older than a fork, in the child: a thread that is
  /// gone may hold that for ever.
  static let lostLock = ForkSafeLock()

  // SAFETY of nonisolated(unsafe): only touched with `lock` held, or what stands in for it. That thread
  // may have been anywhere between two stores, so what a handle tells after a fork must be whole after
  // each store: see `Name`.
  private nonisolated(unsafe) var record: Record

  // SAFETY of nonisolated(unsafe): only touched by the thread itself, which `isCurrent` makes sure
  // of. The starter's writes before the start happen before the thread's.
  nonisolated(unsafe) var local = Local()

  /// The handle of a thread that is to be started.
  package init(name: String?, origin: ThreadOrigin) {
    self.origin = origin
    phase = ThreadPhase(.notStarted)
    identifier = Atomic(0)
    unsafe record = Record(name: Name(name))
  }

  /// The handle of a thread that exists already.
  init(adopting kernelID: UInt32, origin: ThreadOrigin = .other) {
    self.origin = origin
    phase = ThreadPhase(.running)
    identifier = Atomic(kernelID)
    unsafe record = Record(name: Name(nil))
  }

  /// The calling thread. Costs a thread-local read; the first call on a thread of other origin makes
  /// the handle.
  @inlinable
  public static var current: ThreadHandle {
    guard let record = unsafe ctp_get_thread_record() else { return adoptCurrent() }
    // SAFETY: only handles are put there, see ThreadRecordSlot.
    return unsafe Unmanaged<ThreadHandle>.fromOpaque(record).takeUnretainedValue()
  }

  /// The process's main thread. In the child of a fork that another thread made, it is one of those that
  /// are lost, see ``ForkedProcess``: the child's first thread keeps the handle that it has.
  public static let main = {
    let handle = ThreadHandle(adopting: SystemThread.processID, origin: .main)
    if let system = SystemThread.main { handle.setSystem(system) }
    return handle
  }()

  // MARK: Identity and state

  /// Whether this is the calling thread. Costs a thread-local read.
  @inlinable
  public var isCurrent: Bool {
    if unsafe ctp_get_thread_record() == Unmanaged.passUnretained(self).toOpaque() { return true }
    return isMain && isCurrentMain
  }

  /// Whether the caller is the main thread, which may not have taken up its handle yet.
  @usableFromInline var isCurrentMain: Bool { SystemThread.currentID == kernelID }

  /// Whether this is the process's main thread. Costs a comparison.
  public var isMain: Bool { self === Self.main }

  /// The kernel's id of the thread (`gettid(2)`), or 0 for one that has not been started.
  ///
  /// The kernel gives the id of an ended thread to a new one in time. For a thread that is just
  /// being started, the call waits for the moment it takes the thread to arrive.
  public var kernelID: UInt32 {
    // Not the stored one, which is the parent's in a child process made by `fork`.
    if unsafe ctp_get_thread_record() == Unmanaged.passUnretained(self).toOpaque() {
      return SystemThread.currentID
    }
    // acquiring: pairs with the release in beginRunning().
    var id = identifier.load(ordering: .acquiring)
    if id == 0 || id == Self.isAwaited, isLostToFork { return 0 }
    while id == 0 || id == Self.isAwaited {
      if id == 0 {
        if phase.wait(until: .distantFuture, while: { $0 == .starting }) == .notStarted { return 0 }
        // The thread exists and has not stored its id. relaxed: only asks for a wake.
        _ = identifier.compareExchange(
          expected: 0, desired: Self.isAwaited, ordering: .relaxed)
      }
      _ = Futex.wait(identifier, while: Self.isAwaited)
      id = identifier.load(ordering: .acquiring)
    }
    return id
  }

  /// Stands in `identifier` while a thread sleeps until the id is there. Kernel ids are below 2^22.
  static var isAwaited: UInt32 { .max }

  /// How far the thread has come. A thread of other origin is running or finished. Costs a load.
  ///
  /// Everything that the thread's body wrote happens before ``ThreadState/finished`` is seen.
  public var state: ThreadState { phase.state }

  /// Whether the thread was left behind in the parent process: this process was made by `fork`, which
  /// takes along only the thread that calls it. See ``ForkedProcess``.
  public var isLostToFork: Bool {
    isOlderThanFork && !isCurrent && state != .notStarted
  }

  /// The error of a call that needs a thread which the parent process has kept.
  package func lostToFork(_ method: String) -> ThreadingError {
    .refused(
      by: method, code: .noThread,
      "the thread \(name.map { "\"\($0)\" " } ?? "")is the parent process's: "
        + "after a fork the child has only the thread that forked")
  }

  /// Whether the thread was there before the fork that made this process, or its handle if it was not
  /// started. Not so for the thread that forked.
  var isOlderThanFork: Bool {
    // relaxed: a fork orders everything.
    birthplace.load(ordering: .relaxed) != SystemProcess.forkGeneration
  }

  /// Calls `body` with the record locked.
  func withRecord<Result, Failure: Error>(
    _ body: (inout Record) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    func call() throws(Failure) -> Result { try unsafe body(&record) }
    return isOlderThanFork ? try Self.lostLock.withLock(call) : try lock.withLock(call)
  }

  /// Notes that the thread is started in this process.
  func noteBirth() { birthplace.store(SystemProcess.forkGeneration, ordering: .relaxed) }

  /// The thread's name as given in its attributes or set here; nil for a thread without one.
  ///
  /// It may be set at any time and from any thread: before the start, while the thread runs, and
  /// after its end. The system's listings follow while the thread lives, with as many whole characters
  /// as the system keeps (15 bytes on Linux); from another thread, if a descriptor is left for that. Naming the main thread does not touch the listings,
  /// where its name is the name of the whole process.
  ///
  /// Reading costs an uncontended lock; setting costs a few system calls more while the thread lives.
  public var name: String? {
    get { withRecord { $0.name.current } }
    set {
      withRecord { record in
        record.name.set(newValue)
        guard record.isAlive && !isMain && !isLostToFork else { return }
        // relaxed: stored by the thread before it set `isAlive` under the lock.
        let system = SystemThread(rawValue: systemNumber.load(ordering: .relaxed))
        listedAsProgram.store(false, ordering: .sequentiallyConsistent)
        system.setName(SystemThread.systemName(for: newValue ?? SystemThread.programName))
      }
    }
  }

  /// The signals that the thread blocks at this moment, by number: its
  /// ``ThreadAttributes/blockedSignals``, those that its starter had blocked, and what it has changed
  /// since. Costs some system calls.
  ///
  /// - Returns: the numbers; those of the C library's own signals are among them if they are blocked.
  /// - Throws: a ``ThreadingError`` (`ESRCH`) for a thread that has not been started or has ended, and
  ///   where there is no `proc` file system; `EMFILE` or `ENFILE` when no descriptor is left to read it.
  public func blockedSignals() throws(ThreadingError) -> Set<Int32> {
    try withLiveID("blockedSignals") { id throws(ThreadingError) in
      guard let signals = try SystemTask.blockedSignals(of: id) else {
        throw .refused(
          by: "ThreadHandle.blockedSignals", code: .noThread,
          "the system has no file that tells about \(SystemThread.describe(id))")
      }
      return signals
    }
  }

  // MARK: For the layers above

  /// The run loop of the thread. Only for the thread itself.
  package var runLoop: AnyObject? {
    get {
      require(isCurrent, "ThreadHandle.runLoop: not the calling thread")
      return unsafe local.runLoop
    }
    set {
      require(isCurrent, "ThreadHandle.runLoop: not the calling thread")
      unsafe local.runLoop = newValue
    }
  }

  /// What the operations layer keeps of the thread. Only for the thread itself.
  package var operations: AnyObject? {
    get {
      require(isCurrent, "ThreadHandle.operations: not the calling thread")
      return unsafe local.operations
    }
    set {
      require(isCurrent, "ThreadHandle.operations: not the calling thread")
      unsafe local.operations = newValue
    }
  }

  /// Has `hook` called on the thread when it ends: after its body has returned, before its values are
  /// released; the last added is called first. A hook that a hook adds is called too, in a bounded
  /// number of rounds.
  ///
  /// Hooks of the main thread are not called, because the process ends with it. Costs an element of an
  /// array.
  ///
  /// - Parameter hook: released when it has been called. Called on the thread, so it need not be
  ///   `Sendable`.
  /// - Precondition: This is the calling thread. If it is not, the program stops.
  public func atEnd(_ hook: @escaping () -> Void) {
    require(isCurrent, "ThreadHandle.atEnd: not the calling thread")
    unsafe local.endHooks.append(hook)
  }

  /// The number of the next value of a thread-local variable that the thread stores. Only for the
  /// thread itself.
  func nextLocalSequence() -> Int {
    unsafe local.localSequence += 1
    return unsafe local.localSequence
  }

  /// Has a thread that is still to be started inherit no values of its starter's.
  package func disinherit() { unsafe local.isHeir = false }

  /// Notes that the calling thread, whose handle this is, has a value that others inherit.
  func noteInheritable(_ index: Int) {
    if unsafe !local.inheritable.contains(index) { unsafe local.inheritable.append(index) }
  }

  /// Takes along what the thread, which is just being started by the calling one, inherits from it.
  func collectInheritance() {
    guard unsafe local.isHeir, unsafe ctp_get_thread_record() != nil else { return }
    let starter = ThreadHandle.current
    // A copy: the closures that make the values may store further ones.
    for index in unsafe starter.local.inheritable {
      guard let stored = LocalSlots.box(index) as? any ThreadLocalStored,
        let step = stored.inheritance()
      else { continue }
      unsafe local.inheritance.append(step)
    }
  }

  /// Notes, in the handle of a thread that the calling one is about to make, who makes it: the new thread
  /// looks what it may have inherited.
  func noteStarter() { unsafe local.starter = .current }

  /// Lets go of both after a refused start.
  func dropInheritance() {
    unsafe local.inheritance = []
    unsafe local.starter = nil
  }

  func takeUpInheritance() {
    let steps = unsafe local.inheritance
    unsafe local.inheritance = []
    for step in steps { step() }
  }

  /// Calls `body` with the kernel's id of the thread, which cannot end meanwhile.
  ///
  /// - Throws: `ESRCH` for a thread that has not been started or has ended; what `body` throws.
  func withLiveID<Result>(
    _ method: String, _ body: (UInt32) throws(ThreadingError) -> Result
  ) throws(ThreadingError) -> Result {
    if isLostToFork { throw lostToFork("ThreadHandle.\(method)") }
    // Waits, for a thread that is just being started, until it is there.
    let id = kernelID
    return try withRecord { record throws(ThreadingError) in
      guard record.isAlive || (isMain && !record.isRetired) else {
        throw .refused(
          by: "ThreadHandle.\(method)", code: .noThread,
          "there is no thread now: it \(id == 0 ? "was not started" : "has ended")")
      }
      return try body(id)
    }
  }

  /// Calls `body` with the system's handle and the kernel's id of the thread, which cannot end meanwhile.
  ///
  /// - Throws: as ``withLiveID(_:_:)``; `ESRCH` as well for a main thread that the package never saw.
  func withLiveThread<Result>(
    _ method: String, _ body: (SystemThread, UInt32) throws(ThreadingError) -> Result
  ) throws(ThreadingError) -> Result {
    try withLiveID(method) { id throws(ThreadingError) in
      // relaxed: as in `system`.
      let number = systemNumber.load(ordering: .relaxed)
      guard number != 0 else {
        throw .refused(
          by: "ThreadHandle.\(method)", code: .noThread,
          "the main thread is not known: the package was loaded by another thread")
      }
      return try body(SystemThread(rawValue: number), id)
    }
  }

  /// The thread whose end this one waits for without a limit.
  var awaited: ThreadHandle? {
    get { withRecord { $0.awaited } }
    set { withRecord { $0.awaited = newValue } }
  }

  /// The system's handle. Only for whoever knows that the thread was started and is neither joined
  /// nor detached yet.
  var system: SystemThread {
    // relaxed: the state that the caller has seen was entered after the store.
    SystemThread(rawValue: systemNumber.load(ordering: .relaxed))
  }

  func setSystem(_ system: SystemThread) {
    // relaxed: the thread and its starter store the same number, each before it enters `running`.
    systemNumber.store(system.rawValue, ordering: .relaxed)
  }
}

extension ThreadHandle: CustomStringConvertible {
  /// The kernel's id and the name: `thread 4711 "importer"`.
  public var description: String {
    let id = state == .notStarted ? "not started" : "\(isLostToFork ? 0 : kernelID)"
    return name.map { "thread \(id) \"\($0)\"" } ?? "thread \(id)"
  }
}
