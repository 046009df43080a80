import ThreadingFoundation

extension ThreadChapter {
  static func sumElsewhere() throws -> Int {
    // snippet: start
    let adder = try PosixThread.start { (1...100).reduce(0, +) }
    let sum = try adder.join()
    // end
    return sum
  }

  // snippet: error
  enum BadText: Error, Equatable {
    case notANumber(String)
  }

  static func number(_ text: String) throws -> Int {
    let reader = try PosixThread.start {
      guard let number = Int(text) else { throw BadText.notANumber(text) }
      return number
    }
    return try reader.join()
  }
  // end

  static func errorOf(_ text: String) -> BadText? {
    do {
      _ = try number(text)
      return nil
    } catch {
      return error as? BadText
    }
  }

  /// Joins one thread from two others.
  static func joinTwice() throws -> [Int] {
    // snippet: twice
    let worker = try PosixThread.start { 42 }
    let first = try PosixThread.start { try worker.join() }
    let second = try PosixThread.start { try worker.join() }
    // end
    return [try first.join(), try second.join()]
  }

  static func detached() throws -> String? {
    // snippet: detached
    let message = Locked<String?>(nil)
    let isDone = CountdownLatch(1)
    try PosixThread.detach {
      message.withLock { $0 = "done" }
      isDone.countDown()
    }
    isDone.wait()
    // end
    return message.withLock { $0 }
  }
}
