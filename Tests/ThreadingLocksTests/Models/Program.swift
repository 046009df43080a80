/// A model whose threads are given by a function from a step, with what the thread knows, to the
/// next.
struct Program<Shared: Hashable, Step: Hashable & Sendable>: Model, CustomStringConvertible {
  var shared: Shared
  var steps: [Step]
  private let code: Code

  private final class Code: Hashable, Sendable {
    let next: @Sendable (Int, Step, Shared) -> [(Step, Shared)]
    let end: Step
    let rule: @Sendable (Shared, [Step]) -> String?

    init(
      next: @escaping @Sendable (Int, Step, Shared) -> [(Step, Shared)], end: Step,
      rule: @escaping @Sendable (Shared, [Step]) -> String?
    ) {
      self.next = next
      self.end = end
      self.rule = rule
    }

    // One program's code is the same in all of its states.
    static func == (left: Code, right: Code) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  /// - Parameters:
  ///   - shared: What the threads share at first.
  ///   - steps: Where each thread begins.
  ///   - end: Where each thread ends.
  ///   - next: All that a thread's step may lead to; nothing when it has to wait.
  ///   - rule: The rule that a state breaks, if any.
  init(
    _ shared: Shared, _ steps: [Step], end: Step,
    next: @escaping @Sendable (Int, Step, Shared) -> [(Step, Shared)],
    rule: @escaping @Sendable (Shared, [Step]) -> String?
  ) {
    self.shared = shared
    self.steps = steps
    code = Code(next: next, end: end, rule: rule)
  }

  var isEnd: Bool { steps.allSatisfy { $0 == code.end } }

  var description: String { "\(steps)  \(shared)" }

  var brokenRule: String? { code.rule(shared, steps) }

  func successors() -> [Program] {
    steps.indices.flatMap { index in
      code.next(index, steps[index], shared).map { step, shared in
        var state = self
        state.steps[index] = step
        state.shared = shared
        return state
      }
    }
  }
}

/// A word that threads sleep on, as the kernel sees it.
struct ModelWord: Hashable, Sendable {
  var value: Int
  private(set) var sleepers: [Int] = []

  init(_ value: Int) {
    self.value = value
  }

  func isAsleep(_ thread: Int) -> Bool { sleepers.contains(thread) }

  /// The comparison and the falling asleep are one step, as the kernel promises.
  mutating func wait(_ thread: Int, while expected: Int) {
    if value == expected { sleepers.append(thread) }
  }

  mutating func wake(_ count: Int = .max) {
    sleepers.removeFirst(min(count, sleepers.count))
  }

  mutating func timeOut(_ thread: Int) {
    sleepers.removeAll { $0 == thread }
  }

  /// Compares and swaps; returns what was there.
  mutating func compareExchange(_ expected: Int, _ desired: Int) -> Int {
    let seen = value
    if seen == expected { value = desired }
    return seen
  }
}
