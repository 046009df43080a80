import Threading

// snippet: key
/// The number of the request that a thread works for.
enum RequestNumber: ThreadDictionaryKey {
  typealias Value = Int
}
// end

extension ValuesChapter {
  static func numbersOfThree() throws -> [Int?] {
    // snippet: own
    let threads = try (1...3).map { number in
      try PosixThread.start {
        ThreadDictionary.current[RequestNumber.self] = number
        return handleRequest()
      }
    }
    return try threads.map { try $0.join() }
    // end
  }

  // snippet: deep
  /// Deep in the program, nobody has handed the number down.
  static func handleRequest() -> Int? {
    ThreadDictionary.current[RequestNumber.self]
  }
  // end

  static func progressFromOutside() throws -> (before: Double?, after: Double?) {
    let isHalfDone = CountdownLatch(1)
    let mayGoOn = CountdownLatch(1)
    let worker = try PosixThread.start {
      ThreadDictionary.current["progress"] = 0.5
      isHalfDone.countDown()
      mayGoOn.wait()
    }
    isHalfDone.wait()
    // snippet: outside
    let progress = worker.handle.dictionary["progress"] as? Double
    // end
    mayGoOn.countDown()
    try worker.join()
    return (progress, worker.handle.dictionary["progress"] as? Double)
  }

  // snippet: release
  /// Something that has to be closed at the end: a connection, a file.
  final class Connection: Sendable {
    let isClosed: AtomicFlag

    init(isClosed: AtomicFlag) { self.isClosed = isClosed }

    deinit { _ = isClosed.testAndSet() }
  }

  static func isReleasedByJoin() throws -> Bool {
    let isClosed = AtomicFlag()
    let worker = try PosixThread.start {
      ThreadDictionary.current["connection"] = Connection(isClosed: isClosed)
    }
    try worker.join()
    return isClosed.isSet
  }
  // end
}
