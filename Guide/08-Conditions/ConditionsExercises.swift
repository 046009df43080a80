import Threading

extension ConditionsChapter {
  static let solutions = [
    Solution("a buffer that is closed at the end") { page in
      let sums = try sumOfAll(1_000, consumers: 3)
      page.claim("three consumers took 1,000 numbers, and all three ended", sums == 499_500)
    },
    Solution("pause and resume") { page in
      let counts = try pauseAndResume()
      page.claim("while paused, it counted no further", counts.paused.0 == counts.paused.1)
      page.claim("resumed, it went on", counts.resumed > counts.paused.1)
    },
  ]

  /// Numbers on their way, until it is closed.
  final class ClosableBuffer: Sendable {
    private let state = Locked((numbers: [Int](), isClosed: false))

    func put(_ number: Int) { state.withLock { $0.numbers.append(number) } }

    func close() { state.withLock { $0.isClosed = true } }

    /// The next number; nil when it is closed and empty.
    func take() -> Int? {
      state.withLock(when: { !$0.numbers.isEmpty || $0.isClosed }) { state in
        state.numbers.isEmpty ? nil : state.numbers.removeFirst()
      }
    }
  }

  static func sumOfAll(_ count: Int, consumers: Int) throws -> Int {
    let buffer = ClosableBuffer()
    let threads = try (0..<consumers).map { _ in
      try PosixThread.start {
        var sum = 0
        while let number = buffer.take() { sum += number }
        return sum
      }
    }
    for number in 0..<count { buffer.put(number) }
    buffer.close()
    return try threads.map { try $0.join() }.reduce(0, +)
  }

  /// A worker looks at each step whether it may go on.
  static func pauseAndResume() throws -> (paused: (Int, Int), resumed: Int) {
    let isPaused = Locked(false)
    let isOver = AtomicFlag()
    let count = AtomicCounter()
    let isHalted = AtomicFlag()
    let worker = try PosixThread.start {
      while !isOver.isSet {
        if isPaused.withLock({ $0 }) { _ = isHalted.testAndSet() }
        isPaused.withLock(when: { !$0 }) { _ in }
        count.increment()
      }
    }
    _ = count.wait { $0 > 100 }
    isPaused.withLock { $0 = true }
    isHalted.wait()
    let first = count.value
    // Long enough for a worker that is not halted to count on.
    _ = ResetEvent(.manual).wait(for: .milliseconds(20))
    let second = count.value
    isPaused.withLock { $0 = false }
    let resumed = count.wait { $0 > second }
    _ = isOver.testAndSet()
    try worker.join()
    return ((first, second), resumed)
  }
}
