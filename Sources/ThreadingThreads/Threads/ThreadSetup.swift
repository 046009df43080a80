internal import Synchronization
package import ThreadingPlatform

/// What a new thread does for itself before its body runs, and tells its starter about.
///
/// Only a thread that has something to set up has one; others cost their starter no wait.
package final class ThreadSetup: @unchecked Sendable {
  // SAFETY of @unchecked: `error` is written by the new thread before it moves `word`, and read by the
  // starter afterwards.

  // State     | meaning                       | leaves by
  // 0 open    | the thread has not answered   | the thread -> done or refused, and wakes the starter
  // 1 done    | everything is in force        | never
  // 2 refused | `error` says what was refused | never
  private let word = Atomic<UInt32>(0)
  private var error: ThreadingError?

  private let scheduling: SystemScheduling.Parameters?
  /// Whether the thread is to be marked, with the scheduling that it inherits.
  private let isToBeMarked: Bool
  private let isSchedulingRequired: Bool
  private let cpus: CPUSet?
  private let isPinned: Bool
  private let isStackMeasured: Bool
  private let hasOwnStack: Bool
  private let handle: ThreadHandle

  /// - Returns: nil when nothing is to be set up.
  /// - Throws: for a value out of range.
  package static func ifNeeded(
    _ attributes: ThreadAttributes, for handle: ThreadHandle
  ) throws(ThreadingError) -> ThreadSetup? {
    // Looked at first: an object that is made in vain would be a good part of what a start costs.
    let isNeeded =
      attributes.scheduling != nil || attributes.cpus != nil || attributes.isStackMeasured
      || attributes.resetsSchedulingOnFork == true
    let inherited = attributes.cpus == nil ? try ThreadHandle.affinityForChild() : nil
    guard isNeeded || inherited != nil else { return nil }
    return try ThreadSetup(attributes, inherited, for: handle)
  }

  private init(
    _ attributes: ThreadAttributes, _ inherited: CPUSet?, for handle: ThreadHandle
  ) throws(ThreadingError) {
    try attributes.cpus?.checkAllowed(by: "ThreadAttributes.cpus")
    scheduling = try attributes.scheduling?.parameters(
      resetsOnFork: attributes.resetsSchedulingOnFork)
    isToBeMarked = scheduling == nil && attributes.resetsSchedulingOnFork == true
    isSchedulingRequired = attributes.isSchedulingRequired
    cpus = attributes.cpus ?? inherited
    isPinned = attributes.cpus != nil
    isStackMeasured = attributes.isStackMeasured
    hasOwnStack = attributes.stack == nil
    self.handle = handle
  }

  /// For the new thread: puts everything in force, and tells the starter.
  ///
  /// - Returns: whether the body is to be run.
  package func perform() -> Bool {
    do throws(ThreadingError) {
      // A deadline is admitted only for a thread with all processors, so they come first there. Else
      // last: on processors that threads of a higher rank keep busy, one without its own rank would
      // wait for its turn to ask for it.
      let scheduling = try wantedScheduling()
      let isDeadline = scheduling?.policy == .deadline
      if isDeadline, let cpus { try handle.pin(cpus, thread: 0, isOwn: isPinned) }
      if let scheduling {
        do throws(ThreadingError) {
          try ThreadHandle.schedule(scheduling, thread: 0)
        } catch {
          if isSchedulingRequired { throw error }
        }
      }
      if !isDeadline, let cpus { try handle.pin(cpus, thread: 0, isOwn: isPinned) }
      if isStackMeasured { try SystemThread.clearUnusedStack(isOwn: hasOwnStack) }
    } catch {
      self.error = error
    }
    // releasing: pairs with the acquire in `wait`.
    word.store(error == nil ? 1 : 2, ordering: .releasing)
    Futex.wakeAll(word)
    return error == nil
  }

  /// The scheduling that is asked for, or what the thread has inherited, marked; nil for neither.
  private func wantedScheduling() throws(ThreadingError) -> SystemScheduling.Parameters? {
    guard isToBeMarked else { return scheduling }
    var parameters = try SystemScheduling.parameters(of: 0)
    parameters?.resetsOnFork = true
    return parameters
  }

  /// For the starter: waits for the thread's answer.
  ///
  /// - Throws: what was refused. The thread then ends without running its body.
  package func wait() throws(ThreadingError) {
    // acquiring: pairs with the release in `perform`.
    while word.load(ordering: .acquiring) == 0 { _ = Futex.wait(word, while: 0) }
    if let error { throw error }
  }
}
