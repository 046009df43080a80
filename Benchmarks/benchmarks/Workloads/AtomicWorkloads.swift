import Synchronization
import Threading

/// Counts that several threads add to.
enum AtomicWorkloads {
  static func all(threads: [Int]?) -> [Workload] { (threads ?? [2]).map(count) }

  private static func count(_ threads: Int) -> Workload {
    Workload(
      "atomic/count-\(threads)", item: "add 1 to a count that \(threads) threads add to",
      threads: threads, family: "atomic/count",
      [
        .ours { items in
          let counter = StripedCounter()
          return try batch(items, threads, { counter.add() }, { counter.sum })
        },
        Implementation("synchronization") { items in
          let counter = Counter()
          return try batch(items, threads, { counter.increment() }, { counter.value })
        },
        // What no shared count can be quicker than: each thread has one of its own, on cache lines of
        // its own, and adds to it in one atomic step; or in none.
        Implementation("unshared-atomic") { items in
          let counts = (0..<threads).map { _ in PaddedCount() }
          return try batch(items, threads) {
            let count = counts[$0]
            return { count.addAtomically() }
          } sum: {
            counts.map(\.value).reduce(0, +)
          }
        },
        Implementation("unshared") { items in
          let counts = (0..<threads).map { _ in PaddedCount() }
          return try batch(items, threads) {
            let count = counts[$0]
            return { count.add() }
          } sum: {
            counts.map(\.value).reduce(0, +)
          }
        },
      ])
  }

  @inline(__always)
  private static func batch(
    _ items: Int, _ threads: Int, _ adder: @escaping @Sendable (Int) -> () -> Void,
    sum: () -> Int
  ) throws -> Int64 {
    let nanoseconds = try Team.run(threads, on: .ownProcessors) { index in
      let share = items / threads + (index < items % threads ? 1 : 0)
      let add = adder(index)
      for _ in 0..<share { add() }
    }
    try WrongResult.unless("the sum", sum(), is: items)
    return nanoseconds
  }

  @inline(__always)
  private static func batch(
    _ items: Int, _ threads: Int, _ add: @escaping @Sendable () -> Void, _ sum: () -> Int
  ) throws -> Int64 {
    let nanoseconds = try Team.run(threads, on: .ownProcessors) { index in
      let share = items / threads + (index < items % threads ? 1 : 0)
      for _ in 0..<share { add() }
    }
    try WrongResult.unless("the sum", sum(), is: items)
    return nanoseconds
  }
}

/// A count of one thread, far from any other.
private final class PaddedCount: Sendable {
  // Both sides, since what lies before is not known.
  private let before: InlineArray<16, Int> = .init(repeating: 0)
  private let count = Atomic<Int>(0)
  private let after: InlineArray<16, Int> = .init(repeating: 0)

  @inline(__always)
  func addAtomically() { count.wrappingAdd(1, ordering: .relaxed) }

  /// A load and a store: no other thread comes.
  @inline(__always)
  func add() { count.store(count.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }

  var value: Int { count.load(ordering: .relaxed) }
}
