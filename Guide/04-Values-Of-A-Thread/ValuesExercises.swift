import Threading

extension ValuesChapter {
  static let solutions = [
    Solution("a log that knows the request") { page in
      page.claim(
        "each line has the number of its request, nested ones too",
        try loggedLines() == ["[7] begin", "[8] inside", "[7] end", "[-] outside"])
    },
    Solution("a costly object, once per thread") { page in
      let made = try objectsMade(threads: 3, uses: 100)
      page.claim("three threads used theirs 100 times: three were made", made == 3)
    },
  ]

  /// Runs a function with a request's number, and puts the former one back.
  static func withRequest<Failure: Error>(
    _ number: Int, _ body: () throws(Failure) -> Void
  ) throws(Failure) {
    let dictionary = ThreadDictionary.current
    let former = dictionary[RequestNumber.self]
    dictionary[RequestNumber.self] = number
    defer { dictionary[RequestNumber.self] = former }
    try body()
  }

  static func loggedLines() throws -> [String] {
    try PosixThread.start {
      var lines: [String] = []
      func log(_ text: String) {
        let number = ThreadDictionary.current[RequestNumber.self]
        lines.append("[\(number.map(String.init) ?? "-")] \(text)")
      }
      withRequest(7) {
        log("begin")
        withRequest(8) { log("inside") }
        log("end")
      }
      log("outside")
      return lines
    }.join()
  }

  /// How many objects are made when each thread keeps its own.
  static func objectsMade(threads: Int, uses: Int) throws -> Int {
    let made = AtomicCounter()
    let formatter = ThreadLocal {
      made.increment()
      return NumberFormat()
    }
    let workers = try (0..<threads).map { _ in
      try PosixThread.start {
        for number in 0..<uses { _ = formatter.value.format(number) }
      }
    }
    for worker in workers { try worker.join() }
    return made.value
  }

  /// Costly to make, and not fit to be used by two threads at once.
  private final class NumberFormat {
    private var used = 0

    func format(_ number: Int) -> String {
      used += 1
      return Figures.grouped(number)
    }
  }
}
