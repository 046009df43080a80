import Dispatch
import Threading

extension WaysChapter {
  static let steps = 1_000

  static func countByLock() -> Int {
    // snippet: lock
    let count = Locked(0)
    parallelForEach(0..<steps) { _ in count.withLock { $0 += 1 } }
    let result = count.withLock { $0 }
    // end
    return result
  }

  static func countByQueue() throws -> Int {
    // snippet: serial
    let keeper = ThreadOperationQueue(name: "keeper", width: 1)
    let count = Kept(0)
    try parallelForEach(0..<steps) { _ in
      try keeper.add { count.value += 1 }
    }
    keeper.waitForAll()
    // end
    return count.value
  }

  /// A value that only one queue of width 1 touches while it is at work.
  // SAFETY of @unchecked: its user sees to that.
  final class Kept: @unchecked Sendable {
    var value: Int

    init(_ value: Int) { self.value = value }
  }

  static func countByActor() throws -> Int {
    try ActorsChapter.waitForAsync {
      // snippet: actor
      let count = Counter()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<steps { group.addTask { await count.step() } }
      }
      let result = await count.value
      // end
      return result
    }
  }

  // snippet: counter
  actor Counter {
    private(set) var value = 0

    func step() { value += 1 }
  }
  // end

  /// What the numbers below a limit add up to, in strides.
  static func strides(_ limit: Int, of size: Int) -> (ours: Int, dispatch: Int) {
    let ours = Locked(0)
    let theirs = Locked(0)
    // snippet: apply
    parallelForEachPiece(of: limit, piece: size) { range in
      let part = range.reduce(0, +)
      ours.withLock { $0 += part }
    }
    // end
    // snippet: concurrentPerform
    DispatchQueue.concurrentPerform(iterations: (limit + size - 1) / size) { index in
      let range = index * size..<min(limit, (index + 1) * size)
      let part = range.reduce(0, +)
      theirs.withLock { $0 += part }
    }
    // end
    return (ours.withLock { $0 }, theirs.withLock { $0 })
  }
}
