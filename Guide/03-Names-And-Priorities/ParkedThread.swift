import Threading

/// A thread that does nothing until it is let go, to be looked at from outside.
struct ParkedThread {
  private let thread: PosixThread<Void, Never>
  private let mayEnd: CountdownLatch

  // snippet: parked
  /// Starts it. When this returns, all its attributes are in force.
  ///
  /// - Throws: what the system refuses.
  init(_ attributes: ThreadAttributes) throws(ThreadingError) {
    let mayEnd = CountdownLatch(1)
    thread = try PosixThread.start(attributes) { mayEnd.wait() }
    self.mayEnd = mayEnd
  }
  // end

  var handle: ThreadHandle { thread.handle }

  /// The kernel's number of it, under which `/proc/self/task` has a folder.
  var id: UInt32 { thread.handle.kernelID }

  /// Lets it go, and waits for its end.
  ///
  /// - Throws: never, as nobody else detaches it.
  func end() throws {
    mayEnd.countDown()
    try thread.join()
  }
}
