import ThreadingFoundation

extension ThreadChapter {
  static let solutions = [
    Solution("the sum of a large array, in halves") { page in
      let numbers = Array(1...1_000_001)
      let halves = try sum(numbers)
      page.claim("two threads and one find the same sum", halves == numbers.reduce(0, +))
      page.claim("an empty array has the sum 0", try sum([]) == 0)
    },
    Solution("all tasks, and what became of each") { page in
      let results = try outcomes(["1", "two", "3"])
      page.claim("three results in the order of the tasks", results == ["1", "not a number", "3"])
    },
  ]

  /// Adds up each half on a thread of its own.
  static func sum(_ numbers: [Int]) throws -> Int {
    let middle = numbers.count / 2
    let left = try PosixThread.start { numbers[..<middle].reduce(0, +) }
    let right = try PosixThread.start { numbers[middle...].reduce(0, +) }
    return try left.join() + right.join()
  }

  /// Reads each text on a thread of its own. One that fails does not disturb the others.
  static func outcomes(_ texts: [String]) throws -> [String] {
    let threads = try texts.map { text in
      try PosixThread.start { () throws(BadText) in
        guard let number = Int(text) else { throw BadText.notANumber(text) }
        return number
      }
    }
    return try threads.map { thread in
      switch try thread.result() {
      case .success(let number): "\(number)"
      case .failure(.notANumber): "not a number"
      }
    }
  }
}
