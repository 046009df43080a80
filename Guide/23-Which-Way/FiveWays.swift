import Dispatch
import Threading

extension WaysChapter {
  /// A way to do a job in pieces: `count` of them, numbered from 0, each with a value. It tells what the
  /// values add up to.
  typealias Way =
    @Sendable (_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) throws -> Int

  static let ways: [(name: String, run: Way)] = [
    ("threads", byThreads),
    ("a queue of operations", byQueue),
    ("a parallel loop on a pool", byLoop),
    ("Dispatch", byDispatch),
    (
      "tasks",
      { count, piece in
        try ActorsChapter.waitForAsync { await byTasks(count, piece) }
      }
    ),
  ]

  // snippet: threads
  static func byThreads(_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) throws -> Int {
    let tickets = AtomicCounter()
    return try withThreads { scope in
      let threads = try (0..<AvailableParallelism.current).map { _ in
        try scope.start {
          var sum = 0
          while true {
            let index = tickets.increment() - 1
            if index >= count { return sum }
            sum += piece(index)
          }
        }
      }
      return try threads.reduce(0) { $0 + (try $1.join()) }
    }
  }
  // end

  // snippet: queue
  static func byQueue(_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) throws -> Int {
    let queue = ThreadOperationQueue(name: "pieces")
    let operations = (0..<count).map { index in ResultOperation { piece(index) } }
    try queue.add(contentsOf: operations)
    return try operations.reduce(0) { $0 + (try $1.value()) }
  }
  // end

  // snippet: loop
  static func byLoop(_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) -> Int {
    parallelReduce(0..<count, into: 0, { $0 += piece($1) }, combining: +)
  }
  // end

  // snippet: dispatch
  static func byDispatch(_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) -> Int {
    let sum = Locked(0)
    let group = DispatchGroup()
    for index in 0..<count {
      DispatchQueue.global().async(group: group) {
        let value = piece(index)
        sum.withLock { $0 += value }
      }
    }
    group.wait()
    return sum.withLock { $0 }
  }
  // end

  // snippet: tasks
  static func byTasks(_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) async -> Int {
    await withTaskGroup(of: Int.self) { group in
      for index in 0..<count { group.addTask { piece(index) } }
      return await group.reduce(0, +)
    }
  }
  // end

  struct Cost {
    let name: String
    let sum: Int

    /// Microseconds for each piece that does next to nothing.
    let small: Double

    /// Microseconds for each piece with some work.
    let large: Double
  }

  static func costs() throws -> [Cost] {
    try ways.map { way in
      let count = 1_000
      let sum = try way.run(count) { $0 }
      return Cost(
        name: way.name, sum: sum,
        small: try microseconds(perEachOf: count) { _ = try way.run(count) { $0 } },
        large: try microseconds(perEachOf: 64) { _ = try way.run(64, someWork) })
    }
  }

  /// The best of three: what others do on the machine only makes it longer.
  private static func microseconds(
    perEachOf count: Int, _ body: () throws -> Void
  ) throws -> Double {
    let times = try (0..<3).map { _ in try Stopwatch.time(body) }
    return times.min()! / .microseconds(count)
  }

  static func someWork(_ index: Int) -> Int {
    var value = index
    for step in 0..<20_000 { value = value &* 31 &+ step }
    return value & 1
  }
}
