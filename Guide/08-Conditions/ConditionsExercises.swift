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

  /// Where a worker is let through, or halted.
  final class Gate: Sendable {
    private let state = Locked((isPaused: false, isHalted: false))

    /// Lets the worker through. While it is paused, it says that it has halted, and sleeps.
    func pass() {
      while !look() {}
    }

    /// The look and what follows from it are one step: a pause that comes in between is not missed.
    private func look() -> Bool {
      state.withLock(when: { !$0.isPaused || !$0.isHalted }) { state in
        state.isHalted = state.isPaused
        return !state.isPaused
      }
    }

    /// Pauses the worker, and returns when it has halted.
    func pause() {
      state.withLock { $0.isPaused = true }
      state.withLock(when: { $0.isHalted }) { _ in }
    }

    func resume() { state.withLock { $0.isPaused = false } }
  }

  /// A worker comes to the gate at each step.
  static func pauseAndResume() throws -> (paused: (Int, Int), resumed: Int) {
    let gate = Gate()
    let isOver = AtomicFlag()
    let count = AtomicCounter()
    let worker = try PosixThread.start {
      while !isOver.isSet {
        gate.pass()
        count.increment()
      }
    }
    _ = count.wait { $0 > 100 }
    gate.pause()
    let first = count.value
    // Long enough for a worker that is not halted to count on.
    _ = ResetEvent(.manual).wait(for: .milliseconds(20))
    let second = count.value
    gate.resume()
    let resumed = count.wait { $0 > second }
    _ = isOver.testAndSet()
    try worker.join()
    return ((first, second), resumed)
  }
}
