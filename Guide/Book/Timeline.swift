import Threading

/// What several threads did, one thing after the other, drawn for the eye: a row for each thread, a column
/// for each step.
final class Timeline: Sendable {
  private struct Step {
    let thread: String
    let what: String
  }

  private let steps = Locked<[Step]>([])

  /// Notes what a thread does now.
  func add(_ thread: String, _ what: String) {
    steps.withLock { $0.append(Step(thread: thread, what: what)) }
  }

  /// Which threads did one of some things, in the order in which they did.
  func threads(that did: String...) -> [String] {
    steps.withLock { $0.filter { did.contains($0.what) }.map(\.thread) }
  }

  /// A row for each of some threads.
  func rows(_ threads: [String]) -> [String] {
    let width = (threads.map(\.count).max() ?? 0) + 2
    return steps.withLock { steps in
      threads.map { thread in
        steps.reduce(Figures.padded(thread, to: width)) { row, step in
          row + " "
            + (step.thread == thread ? step.what : String(repeating: ".", count: step.what.count))
        }
      }
    }
  }
}
