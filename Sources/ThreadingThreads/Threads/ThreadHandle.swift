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
  private let identifier: Atomic<UInt32>

  /// The system's handle, 0 before the thread has stored it.
  private let systemNumber = Atomic<UInt>(0)

  @usableFromInline let cancellation = ThreadCancellation()

  /// Whether the thread has processors of its own. relaxed: no data goes with it.
  private let pinned = Atomic<Bool>(false)
  var isPinned: Bool {
    get { pinned.load(ordering: .relaxed) }
    set { pinned.store(newValue, ordering: .relaxed) }
  }

  /// How many threads wait for this one's end without a limit, see `withUnlimitedWait`.
  let joiners = Atomic<Int>(0)

  /// What the thread's dictionary holds.
  @usableFromInline let values = ThreadValues()

  /// Who started the thread.
  public let origin: ThreadOrigin

  /// The process that the thread was started in: how many forks it is away from the one that was
  /// executed. relaxed: a fork orders everything.
  private let birthplace = Atomic<UInt32>(SystemProcess.forkGeneration)

  /// Where the thread stands in the list of live threads, see ``ThreadRegistry``.
  // SAFETY of nonisolated(unsafe): only touched with the lock of the list held.
  nonisolated(unsafe) var place = ThreadRegistry.Place()

  /// Guards `record`, and is held by whoever uses the system's handle of a live thread that is not
  /// the caller: the thread takes it to end, so it cannot end meanwhile.
  private let lock = FastMutex()

  /// Stands in for the `lock` of all handles that are older than a fork, in the child: a thread that is
  /// gone may hold that for ever.
  static let lostLock = ForkSafeLock()

  // SAFETY of nonisolated(unsafe): only touched with `lock` held, or what stands in for it. That thread
  // may have been anywhere between two stores, so what a handle tells after a fork must be whole after
  // each store: see `Name`.
  private nonisolated(unsafe) var record: Record

  // SAFETY of nonisolated(unsafe): only touched by the thread itself, which `isCurrent` makes sure
  // of. The starter's writes before the start happen before the thread's.
  private nonisolated(unsafe) var local = Local()

  /// What any thread may ask for, with the lock held.
  private struct Record: ~Copyable {
    var name: Name
    /// The thread whose end this one waits for without a limit.
    var awaited: ThreadHandle?
    /// Whether the system's handle may be used.
    var isAlive = false
    /// The thread is in its last steps: no more watchers are kept.
    var isRetired = false
    /// Tasks that wait for the thread's end.
    var watchers: [EndWatcher] = []
    /// At how many watchers those that wait no more are sorted out.
    var watcherLimit = 16
  }

  /// A name that a fork finds whole at any moment, though a string takes two stores.
  private struct Name: ~Copyable {
    private var first: String?
    private var second: String?
    /// Which of the two it is.
    private let isSecond: Atomic<Bool>

    init(_ name: String?) {
      first = name
      isSecond = Atomic(false)
    }

    var current: String? { isSecond.load(ordering: .relaxed) ? second : first }

    mutating func set(_ name: String?) {
      // releasing: after the stores of the new name, also for a child, which has what was stored up to
      // some moment.
      if isSecond.load(ordering: .relaxed) {
        first = name
        isSecond.store(false, ordering: .releasing)
      } else {
        second = name
        isSecond.store(true, ordering: .releasing)
      }
    }
  }

  /// What only the thread itself touches.
  private struct Local {
    var runLoop: AnyObject?
    var operations: AnyObject?
    var endHooks: [() -> Void] = []
    /// How many values of thread-local variables the thread has stored.
    var localSequence = 0
    /// The variables of which the thread has or had a value that threads it starts inherit.
    var inheritable: [Int] = []
    /// What gives the thread the values that it inherits; for a thread that is to be started.
    var inheritance: [@Sendable () -> Void] = []
    /// Whether the thread inherits values from its starter.
    var isHeir = true
    /// Whether the process is to wait for the thread's end.
    var keepsProcessOpen = false
    /// The scopes that the thread is in, the outermost first.
    var scopes: [ThreadScope] = []
    /// In how many more rounds of the system's destructors `finished` is put off.
    var roundsToStay = 0
  }

  /// The handle of a thread that is to be started.
  package init(name: String?, origin: ThreadOrigin) {
    self.origin = origin
    phase = ThreadPhase(.notStarted)
    identifier = Atomic(0)
    unsafe record = Record(name: Name(name))
  }

  /// The handle of a thread that exists already.
  private init(adopting kernelID: UInt32, origin: ThreadOrigin = .other) {
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
  private static var isAwaited: UInt32 { .max }

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
  private func withRecord<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    if isOlderThanFork { return try Self.lostLock.withLock(body) }
    return try lock.withLock(body)
  }

  /// Notes that the thread is started in this process.
  func noteBirth() { birthplace.store(SystemProcess.forkGeneration, ordering: .relaxed) }

  /// The thread's name as given in its attributes or set here; nil for a thread without one.
  ///
  /// It may be set at any time and from any thread: before the start, while the thread runs, and
  /// after its end. The system's listings follow while the thread lives, with as many whole characters
  /// as the system keeps (15 bytes on Linux). Naming the main thread does not touch the listings,
  /// where its name is the name of the whole process.
  ///
  /// Reading costs an uncontended lock; setting costs a few system calls more while the thread lives.
  public var name: String? {
    get { withRecord { unsafe record.name.current } }
    set {
      withRecord {
        unsafe record.name.set(newValue)
        guard unsafe record.isAlive && !isMain && !isLostToFork else { return }
        // relaxed: stored by the thread before it set `isAlive` under the lock.
        let system = SystemThread(rawValue: systemNumber.load(ordering: .relaxed))
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
  ///   where there is no `proc` file system.
  public func blockedSignals() throws(ThreadingError) -> Set<Int32> {
    try withLiveID("blockedSignals") { id throws(ThreadingError) in
      guard let signals = SystemTask.blockedSignals(of: id) else {
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

  /// Lets go of it after a refused start.
  func dropInheritance() { unsafe local.inheritance = [] }

  private func takeUpInheritance() {
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
    return try withRecord { () throws(ThreadingError) in
      guard unsafe record.isAlive || isMain else {
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
    get { withRecord { unsafe record.awaited } }
    set { withRecord { unsafe record.awaited = newValue } }
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

// MARK: - Forks

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

// MARK: - A thread's beginning and end

extension ThreadHandle {
  /// Has the process wait for the thread's end. Only for the starter, before the thread is made.
  package func keepProcessOpen() {
    unsafe local.keepsProcessOpen = true
    SystemProcess.hold()
  }

  /// Takes ``keepProcessOpen()`` back: the thread was not made.
  package func endKeepingProcessOpen() {
    unsafe local.keepsProcessOpen = false
    SystemProcess.letGo()
  }

  /// Makes this the record of the calling thread, which was started for it: gives the thread its
  /// name and enters `running`.
  package func beginRunning() {
    unsafe local.roundsToStay = Self.lateRounds
    install()
    SystemProcess.isHeldByCurrentThread = unsafe local.keepsProcessOpen
    withRecord {
      unsafe record.isAlive = true
      // Always: the kernel lets a new thread inherit its creator's name.
      let name = unsafe record.name.current.map(SystemThread.systemName)
      system.setName(name ?? SystemThread.listedProgramName)
    }
    // Before the id is told, so that whoever has that finds the thread by it.
    ThreadRegistry.current.add(self)
    // releasing: pairs with the acquire in `kernelID`.
    let before = identifier.exchange(SystemThread.currentID, ordering: .releasing)
    if before == Self.isAwaited { Futex.wakeAll(identifier) }
    phase.move(from: .starting, to: .running)
    if unsafe !local.inheritance.isEmpty { takeUpInheritance() }
  }

  private func install() {
    ThreadRecordSlot.install(self)
    setSystem(.current)
  }

  @inline(never)
  @usableFromInline
  static func adoptCurrent() -> ThreadHandle {
    let id = SystemThread.currentID
    // In the child of another thread's fork, the main thread's handle is lost.
    let isMain = id == SystemThread.processID && !main.isOlderThanFork
    let handle = isMain ? main : ThreadHandle(adopting: id)
    handle.install()
    handle.withRecord { unsafe handle.record.isAlive = true }
    ThreadRegistry.current.add(handle)
    return handle
  }

  /// From here on only the thread itself reaches what the system holds of it.
  ///
  /// - Returns: who waits for the end.
  private func retire() -> [EndWatcher] {
    ThreadRegistry.current.remove(self)
    var watchers: [EndWatcher] = []
    withRecord {
      unsafe record.isAlive = false
      unsafe record.isRetired = true
      unsafe swap(&watchers, &record.watchers)
    }
    cancellation.retire()
    return watchers
  }

  /// How many watchers are kept at this moment, those included that wait no more.
  package var watcherCount: Int { withRecord { unsafe record.watchers.count } }

  /// Has a watcher told of the thread's end.
  ///
  /// - Returns: false when the thread is in its last steps, or has ended.
  func addEndWatcher(_ watcher: EndWatcher) -> Bool {
    withRecord {
      if unsafe record.isRetired { return false }
      if unsafe record.watchers.count >= record.watcherLimit {
        unsafe record.watchers.removeAll { $0.isDone }
        unsafe record.watcherLimit = max(16, record.watchers.count * 2)
      }
      unsafe record.watchers.append(watcher)
      return true
    }
  }

  /// Runs the exit hooks and releases what the thread has stored.
  ///
  /// What is stored anew meanwhile (by a hook or a `deinit`) is treated the same way, in at most
  /// ``clearingRounds`` rounds. Then storage is closed, with a word of complaint: further hooks are
  /// not called, and further values are abandoned.
  package func clearStorage() {
    for _ in 1...Self.clearingRounds where !clearOnce() { return }
    let hasHooks = unsafe !local.endHooks.isEmpty
    guard hasHooks || !values.isEmpty else { return }
    unsafe local.endHooks = []
    values.close()
    _ = clearOnce()
    SystemThread.report(
      "\(self): storage was filled anew in each of \(Self.clearingRounds) rounds of clearing it; "
        + "it is closed now, and what is stored further is abandoned")
  }

  private static var clearingRounds: Int { 4 }

  /// - Returns: whether anything was there.
  private func clearOnce() -> Bool {
    let hooks = unsafe local.endHooks
    unsafe local.endHooks = []
    for hook in hooks.reversed() { hook() }
    let runLoop = unsafe local.runLoop
    unsafe local.runLoop = nil
    let operations = unsafe local.operations
    unsafe local.operations = nil
    let hadLocals = LocalSlots.clear()
    // What others store from here on is refused: it could fill the storage anew in every round.
    values.retire()
    let hadValues = values.clear()
    return !hooks.isEmpty || runLoop != nil || operations != nil || hadLocals || hadValues
  }
}

extension ThreadHandle: ThreadRecordObject {
  /// For a thread that was started for its handle, `finished` is entered in the third of the system's
  /// four rounds of thread-local destructors: those of others have then run, but for one that still
  /// stores something anew after two rounds.
  fileprivate static var lateRounds: Int { 2 }

  package static var ending: @convention(c) (UnsafeMutableRawPointer) -> Bool {
    { record in
      unsafe Unmanaged<ThreadHandle>.fromOpaque(record)._withUnsafeGuaranteedRef {
        $0.threadWillEnd()
      }
    }
  }

  package func threadWillEnd() -> Bool {
    clearStorage()
    if unsafe local.roundsToStay > 0 {
      unsafe local.roundsToStay -= 1
      return true
    }
    LocalSlots.free()
    let watchers = retire()
    phase.move(from: .running, to: .finished)
    if unsafe local.keepsProcessOpen { SystemProcess.letGo() }
    if !watchers.isEmpty {
      for watcher in watchers { watcher.finish(true) }
      // Handing a task over is its executor's code, which may have stored something.
      clearStorage()
      LocalSlots.free()
    }
    return false
  }
}

extension ThreadHandle: CustomStringConvertible {
  /// The kernel's id and the name: `thread 4711 "importer"`.
  public var description: String {
    let id = state == .notStarted ? "not started" : "\(isLostToFork ? 0 : kernelID)"
    return name.map { "thread \(id) \"\($0)\"" } ?? "thread \(id)"
  }
}
