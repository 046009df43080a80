import Threading

extension LargeFilesChapter {
  struct Passed {
    var received = 0

    /// How many lines the writer had written that were not yet worked on, at most.
    var furthestAhead = 0
    var mostWaiting = 0
  }

  /// A thread writes lines into a pipe; a loop reads them and puts them into a mailbox; a worker that is late
  /// takes them out.
  ///
  /// - Parameters:
  ///   - count: how many lines there are.
  ///   - capacity: how many of them the mailbox takes; nil for any number.
  /// - Returns: what came through, and what lay in between at most.
  /// - Throws: what the system refused.
  static func passOn(lines count: Int, capacity: Int?) throws -> Passed {
    let written = AtomicCounter()
    let passed = Locked(Passed())
    let mayWork = AtomicFlag()
    let worker = try LoopChapter.LoopThread(name: "worker")
    let mailbox = Mailbox<LineSource.Line>(capacity: capacity ?? .max) { _ in
      passed.withLock {
        $0.received += 1
        $0.furthestAhead = max($0.furthestAhead, written.value - $0.received)
      }
    }
    try worker.loop.add(mailbox)
    let isBusy = AtomicFlag()
    worker.loop.perform {  // it has something else to do first
      _ = isBusy.testAndSet()
      mayWork.wait()
    }
    isBusy.wait()

    let (reading, writer) = try startWriter(of: count, counting: written)
    try withExtendedLifetime(reading) {
      try read(reading.number, into: mailbox) { isOver in
        // Late, but not for ever: until all is read, or nothing more goes in.
        passed.withLock { $0.mostWaiting = max($0.mostWaiting, mailbox.count) }
        if isOver || mailbox.count == capacity { _ = mayWork.testAndSet() }
      }
    }
    try writer.join()
    try worker.end(after: mailbox)
    return passed.withLock { $0 }
  }

  /// Starts a thread that writes lines into a pipe. When it has ended, so does the pipe.
  private static func startWriter(
    of count: Int, counting written: AtomicCounter
  ) throws -> (reading: Descriptor, PosixThread<Void, Never>) {
    let pipe = try Descriptor.pipe()
    let writer = try PosixThread.start { [writing = pipe.writing] in
      let line = String(repeating: ".", count: Readings.lineLength - 1) + "\n"
      for _ in 0..<count where writing.write(line) { written.increment() }
    }
    return (pipe.reading, writer)
  }

  /// Reads lines on a thread of its own, and waits for the end.
  private static func read(
    _ descriptor: CInt, into mailbox: Mailbox<LineSource.Line>,
    whenPassed: @escaping @Sendable (_ isOver: Bool) -> Void
  ) throws {
    try LoopChapter.onLoop { loop in
      // snippet: source
      let source = LineSource(descriptor) { _, event in
        if case .line(let line) = event {
          whenPassed(false)
          // The loop stands still until there is room. It has nothing else to do.
          _ = mailbox.send(line, until: .distantFuture)
        }
      }
      try loop.add(source)
      loop.run()
      // end
      whenPassed(true)
    }
  }
}
