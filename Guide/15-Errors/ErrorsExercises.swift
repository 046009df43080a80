import Threading

extension ErrorsChapter {
  static let solutions = [
    Solution("all errors, not only the first") { page in
      let outcome = try readAll(["1", "x", "3", "y"])
      page.claim("two numbers came through", outcome.numbers == [1, 3])
      page.claim(
        "and two errors, each with its place", outcome.errors == [.badLine(2), .badLine(4)])
    },
    Solution("try again, a few times") { page in
      let attempts = AtomicCounter()
      let value = try retry(times: 3) {
        if attempts.increment() < 3 { throw ReadingError.badLine(attempts.value) }
        return 42
      }
      page.claim("the third attempt was good", value == 42 && attempts.value == 3)
      var last: ReadingError?
      do {
        try retry(times: 2) { throw ReadingError.badLine(1) }
      } catch {
        last = error as? ReadingError
      }
      page.claim("after the last attempt its error is thrown", last == .badLine(1))
    },
  ]

  /// Reads each text on a thread of its own.
  static func readAll(_ texts: [String]) throws -> (numbers: [Int], errors: [ReadingError]) {
    let readers = try texts.enumerated().map { index, text in
      try PosixThread.start { () throws(ReadingError) in
        guard let number = Int(text) else { throw .badLine(index + 1) }
        return number
      }
    }
    var numbers: [Int] = []
    var errors: [ReadingError] = []
    for reader in readers {
      switch try reader.result() {
      case .success(let number): numbers.append(number)
      case .failure(let error): errors.append(error)
      }
    }
    return (numbers, errors)
  }

  /// Runs a function on a thread, and again if it throws, with a pause that doubles.
  ///
  /// The pause ends when the calling thread is cancelled.
  @discardableResult
  static func retry<Value: Sendable>(
    times: Int, _ body: @escaping @Sendable () throws -> Value
  ) throws -> Value {
    var pause = Duration.milliseconds(1)
    for attempt in 1... {
      switch try PosixThread.start(body: body).result() {
      case .success(let value): return value
      case .failure(let error):
        if attempt >= times { throw error }
        try ThreadHandle.sleep(for: pause)
        pause *= 2
      }
    }
    preconditionFailure("retry: the loop has no end")
  }
}
