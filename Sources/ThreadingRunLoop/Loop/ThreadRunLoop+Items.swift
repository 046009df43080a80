public import ThreadingPlatform

extension ThreadRunLoop {
  /// Adds a timer, to fire while the loop runs in one of the modes. A due timer of another mode
  /// fires as soon as the loop runs in one of its own.
  ///
  /// - Throws: EBUSY when the timer was added to a loop before, to this one or another; ECANCELED
  ///   when it was cancelled; ESRCH when the loop's thread has ended.
  /// - Complexity: O(log n) in the timers of the loop.
  /// - Note: Safe to call from any thread; wakes the loop if it sleeps past the timer's moment.
  public func add(_ timer: ThreadTimer, in modes: ModeSet = .common) throws(ThreadingError) {
    precondition(
      !modes.isEmpty, "ThreadRunLoop.add: the set of modes is empty; the timer would never fire")
    // On its own thread the loop is awake and looks at its timers before it sleeps.
    if let loop = try items.add(timer, modes: modes.bits), !loop.isCurrent { loop.notify() }
  }
}
