public import ThreadingPlatform

extension ThreadHandle {
  /// How much of its stack the thread uses, and has used.
  ///
  /// For the calling thread, or any other that has not ended. Another thread is interrupted by a signal
  /// to ask it where it is, as ``ThreadDump`` describes; what it does goes on afterwards, but the signal
  /// has used some KiB of its stack below that place, which later calls see. The look at the
  /// memory takes a system call for each 4 MiB of stack and a read of each word that was never used in
  /// the pages that were.
  ///
  /// - Returns: the figures of this moment.
  /// - Throws: a ``ThreadingError``: `ESRCH` for a thread that has not been started or has ended; what
  ///   the system refuses (`pthread_getattr_np`: `ENOMEM`, or `ENOENT` for the main thread where there
  ///   is no `proc` file system).
  public func stackUsage() throws(ThreadingError) -> StackUsage {
    try stackUsage(asks: true)
  }

  /// Where the stack of a live thread lies.
  package func systemStack() throws(ThreadingError) -> SystemThread.StackBounds {
    try withLiveThread("systemStack") { system, _ throws(ThreadingError) in
      try system.stack(isMain: isMain)
    }
  }

  /// - Parameter asks: whether another thread is to be asked where it is.
  /// - Returns: the figures of this moment.
  /// - Throws: as the public method.
  func stackUsage(asks: Bool) throws(ThreadingError) -> StackUsage {
    if isCurrent {
      let stack = try SystemThread.currentStack()
      return StackUsage(
        stack, position: SystemThread.frameAddress, lowest: SystemThread.lowestUse(of: stack))
    }
    return try withLiveThread("stackUsage") { system, id throws(ThreadingError) in
      let stack = try system.stack(isMain: isMain)
      // First, since the signal leaves marks of its own.
      let lowest = SystemThread.lowestUse(of: stack)
      guard asks else { return StackUsage(stack, position: nil, lowest: lowest) }
      let sample = ThreadSampler.sample(
        id, withFrames: false, until: .now.advanced(by: .milliseconds(100)))
      let position = try? sample.get().stackPointer
      return StackUsage(stack, position: position, lowest: lowest)
    }
  }
}
