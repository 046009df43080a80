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
    require(
      !modes.isEmpty, "ThreadRunLoop.add: the set of modes is empty; the timer would never fire")
    if try items.add(timer, modes: modes.bits) { notifyFromOutside() }
  }

  /// Adds a source, to be served while the loop runs in one of the modes. One that is ready in
  /// another mode is served as soon as the loop runs in one of its own.
  ///
  /// - Throws: EBUSY when the source was added to a loop before, to this one or another; ECANCELED
  ///   when it was cancelled; ESRCH when the loop's thread has ended. The first source that watches
  ///   a descriptor takes two descriptors for the loop: EMFILE or ENFILE when they have run out.
  ///   For the descriptor itself: EBADF when it is not open, EPERM when it is a regular file or a
  ///   directory, which are always ready and cannot be waited for, EEXIST when this loop watches it
  ///   already (see ``DescriptorSource/events``), ENOMEM or ENOSPC when the system's limits are
  ///   reached. The source can be added again then.
  /// - Note: Safe to call from any thread.
  public func add(_ source: InputSource, in modes: ModeSet = .common) throws(ThreadingError) {
    require(
      !modes.isEmpty, "ThreadRunLoop.add: the set of modes is empty; the source would do nothing")
    try items.add(source, modes: modes.bits).notifyFromOutside()
  }

  /// Has a sleeping loop look around. On its own thread it is awake, and looks before it sleeps.
  func notifyFromOutside() {
    if !isCurrent { notify() }
  }

  /// Something was taken off: a sleeping loop may have nothing left to wait for.
  func noteRemoval() { notifyFromOutside() }
}
