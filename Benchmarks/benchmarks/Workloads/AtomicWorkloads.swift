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
      ])
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
