import Threading

extension SourceChapter {
  // snippet: classic
  static func threadMainRoutine(_ worker: Worker) throws {
    var moreWorkToDo = true
    var exitNow = false
    let runLoop = ThreadRunLoop.current

    // Add the flag to the thread dictionary.
    let threadDictionary = ThreadDictionary.current
    threadDictionary["ThreadShouldExitNow"] = exitNow

    // Install an input source.
    try worker.installInputSource()

    while moreWorkToDo && !exitNow {
      // Do one chunk of a larger body of work here.
      // Change the value of the moreWorkToDo flag when done.
      moreWorkToDo = worker.doChunk()

      // Run the loop but time out at once if the input source isn't waiting to fire.
      runLoop.run(until: .now)

      // Check to see if an input source handler changed the exitNow value.
      exitNow = threadDictionary["ThreadShouldExitNow"] as? Bool ?? false
    }
  }
  // end

  // snippet: modern
  static func workerMain(_ worker: Worker) {
    let loop = ThreadRunLoop.current
    while worker.doChunk() && !ThreadHandle.current.isCancelled {
      loop.poll()
    }
  }
  // end

  /// Work in a thousand chunks, and a source by which its thread is told to end.
  final class Worker: Sendable {
    let chunks = AtomicCounter()
    private let isInChunk = AtomicFlag()
    private let wasInChunk = AtomicFlag()
    private let source = Locked<CustomInputSource?>(nil)

    func doChunk() -> Bool {
      _ = isInChunk.testAndSet()
      defer { _ = isInChunk.testAndClear() }
      LocksChapter.work(.milliseconds(1))
      return chunks.increment() < 1_000
    }

    // snippet: handler
    func installInputSource() throws {
      let exitSource = CustomInputSource { [self] source in
        if isInChunk.isSet { _ = wasInChunk.testAndSet() }
        ThreadDictionary.current["ThreadShouldExitNow"] = true
        source.cancel()
      }
      try ThreadRunLoop.current.add(exitSource)
      source.withLock { $0 = exitSource }
    }

    func tellToExit() { source.withLock { $0 }?.signal() }
    // end

    /// Whether the handler was called between two chunks, as it must be: it is the same thread.
    var wasBetween: Bool { !wasInChunk.isSet }
  }

  static func exitByDictionary() throws -> (chunks: Int, isBetween: Bool) {
    let worker = Worker()
    let thread = try PosixThread.start { try threadMainRoutine(worker) }
    _ = worker.chunks.wait { $0 >= 3 }
    worker.tellToExit()
    try thread.join()
    return (worker.chunks.value, worker.wasBetween)
  }

  static func exitByCancelling() throws -> Int {
    let worker = Worker()
    let thread = try PosixThread.start { workerMain(worker) }
    _ = worker.chunks.wait { $0 >= 3 }
    thread.cancel()
    try thread.join()
    return worker.chunks.value
  }
}
