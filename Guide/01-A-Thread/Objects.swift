import ThreadingFoundation

extension ThreadChapter {
  // snippet: subclass
  /// Adds up numbers. What it needs comes through its initialiser.
  final class Adder: PosixThread<Int, Never>, @unchecked Sendable {
    private let numbers: ClosedRange<Int>

    init(_ numbers: ClosedRange<Int>) {
      self.numbers = numbers
      super.init(ThreadAttributes(name: "adder"))
    }

    override func main() -> Int { numbers.reduce(0, +) }
  }
  // end

  static func sumBySubclass() throws -> Int {
    // snippet: later
    let adder = Adder(1...100)
    // ... and some time later:
    try adder.start()
    let sum = try adder.join()
    // end
    return sum
  }

  // snippet: method
  final class Cache: Sendable {
    let isFilled = ResetEvent(.manual)

    func fill() { isFilled.set() }
  }

  static func fillInBackground() throws -> Bool {
    let cache = Cache()
    try performInBackground(cache, Cache.fill)
    return cache.isFilled.wait(for: .seconds(10))
  }
  // end
}
