internal import CThreadingPlatform
internal import Synchronization
internal import ThreadingLocks
package import ThreadingPlatform

/// A thread's beginning and end.
extension ThreadHandle {
  /// Has the process wait for the thread's end. Only for the starter, before the thread is made.
  ///
  /// - Throws: what the system refuses.
  package func keepProcessOpen() throws(ThreadingError) {
    try SystemProcess.hold()
    unsafe local.keepsProcessOpen = true
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
    let starter = unsafe local.starter
    unsafe local.starter = nil
    withRecord { record in
      record.isAlive = true
      list(under: record.name.current, startedBy: starter)
    }
    if starter?.isPinned == true { leaveProcessors() }
    // Before the id is told, so that whoever has that finds the thread by it.
    ThreadRegistry.current.add(self)
    // releasing: pairs with the acquire in `kernelID`.
    let before = identifier.exchange(SystemThread.currentID, ordering: .releasing)
    if before == Self.isAwaited { Futex.wakeAll(identifier) }
    phase.move(from: .starting, to: .running)
    if unsafe !local.inheritance.isEmpty { takeUpInheritance() }
  }

  /// Has the system list the new thread, the calling one, under its name or that of the program.
  ///
  /// The kernel lets a new thread inherit its creator's name. An unnamed one of a creator that is known
  /// to bear the program's saves the system call, which is a tenth of what a thread costs. Not so one of
  /// Foundation's, which has told the system a name itself.
  private func list(under name: String?, startedBy starter: ThreadHandle?) {
    let isListed =
      origin == .posix
      && starter?.listedAsProgram.load(ordering: .sequentiallyConsistent) == true
    if let name {
      system.setName(SystemThread.systemName(for: name))
    } else {
      if !isListed { system.setName(SystemThread.listedProgramName) }
      listedAsProgram.store(true, ordering: .relaxed)
    }
  }

  /// Gives up the processors that the starter was being given while it made this thread, the calling one,
  /// if it has none of its own. They are those of the process, which the system does not refuse.
  private func leaveProcessors() {
    guard !isPinned, let all = try? Self.processAffinity() else { return }
    try? SystemScheduling.setAffinity(all.words, of: 0)
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
    handle.withRecord { $0.isAlive = true }
    if isMain && SystemThread.currentIsListedAsProgram {
      handle.listedAsProgram.store(true, ordering: .relaxed)
    }
    ThreadRegistry.current.add(handle)
    return handle
  }

  /// From here on only the thread itself reaches what the system holds of it.
  ///
  /// - Returns: who waits for the end.
  private func retire() -> [EndWatcher] {
    ThreadRegistry.current.remove(self)
    var watchers: [EndWatcher] = []
    withRecord { record in
      record.isAlive = false
      record.isRetired = true
      swap(&watchers, &record.watchers)
    }
    cancellation.retire()
    return watchers
  }

  /// Who waits for the end at this moment, and is not kept any more.
  func takeEndWatchers() -> [EndWatcher] {
    var watchers: [EndWatcher] = []
    withRecord { swap(&watchers, &$0.watchers) }
    return watchers
  }

  /// How many watchers are kept at this moment, those included that wait no more.
  package var watcherCount: Int { withRecord { $0.watchers.count } }

  /// Has a watcher told of the thread's end.
  ///
  /// - Returns: false when the thread is in its last steps, or has ended.
  func addEndWatcher(_ watcher: EndWatcher) -> Bool {
    withRecord { record in
      if record.isRetired { return false }
      if record.watchers.count >= record.watcherLimit {
        record.watchers.removeAll { $0.isDone }
        record.watcherLimit = max(16, record.watchers.count * 2)
      }
      record.watchers.append(watcher)
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
