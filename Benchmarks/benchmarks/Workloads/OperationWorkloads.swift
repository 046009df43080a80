import Dispatch
import Foundation
import Threading

/// Operations and queues of them.
enum OperationWorkloads {
  static func all(threads: [Int]?) -> [Workload] {
    (threads ?? [1, 2]).map(noOperation(width:)) + [roundTrip, chain, longChain, fan, gate, cancel]
  }

  private static func noOperation(width: Int) -> Workload {
    Workload(
      "operation/no-op-width-\(width)", item: "make an operation, queue it, have it run",
      threads: width + 1, size: .fixed(100_000), family: "operation/no-op", scales: true,
      [
        .ours { items in
          let queue = ThreadOperationQueue(width: width)
          return try countedBatch(items) { ran in
            for _ in 0..<items { try queue.add { ran.increment() } }
            queue.waitForAll()
          }
        },
        Implementation("ours-array") { items in
          let queue = ThreadOperationQueue(width: width)
          return try countedBatch(items) { ran in
            try queue.add(
              contentsOf: (0..<items).map { _ in ClosureOperation { ran.increment() } })
            queue.waitForAll()
          }
        },
        Implementation("foundation") { items in
          let queue = Foundation.OperationQueue()
          queue.maxConcurrentOperationCount = width
          return try countedBatch(items) { ran in
            for _ in 0..<items { queue.addOperation { ran.increment() } }
            queue.waitUntilAllOperationsAreFinished()
          }
        },
        Implementation("foundation-array") { items in
          let queue = Foundation.OperationQueue()
          queue.maxConcurrentOperationCount = width
          return try countedBatch(items) { ran in
            queue.addOperations(
              (0..<items).map { _ in Foundation.BlockOperation { ran.increment() } },
              waitUntilFinished: true)
          }
        },
        Implementation("dispatch") { items in
          // Dispatch has no width but one and all.
          let queue = DispatchQueue(
            label: "benchmarks", attributes: width == 1 ? [] : .concurrent)
          return try countedBatch(items) { ran in
            let group = DispatchGroup()
            for _ in 0..<items { queue.async(group: group) { ran.increment() } }
            group.wait()
          }
        },
      ])
  }

  @inline(__always)
  private static func countedBatch(
    _ items: Int, _ body: (Counter) throws -> Void
  ) throws -> Int64 {
    let ran = Counter()
    let stopwatch = Stopwatch()
    try body(ran)
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the operations that ran", ran.value, is: items)
    return nanoseconds
  }

  private static let roundTrip = Workload(
    "operation/round-trip", item: "queue one operation, wait for its end", threads: 2,
    [
      .ours { items in
        let queue = ThreadOperationQueue(width: 1)
        return try countedBatch(items) { ran in
          for _ in 0..<items { try queue.add { ran.increment() }.wait() }
        }
      },
      Implementation("foundation") { items in
        let queue = Foundation.OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return try countedBatch(items) { ran in
          for _ in 0..<items {
            let operation = Foundation.BlockOperation { ran.increment() }
            queue.addOperation(operation)
            operation.waitUntilFinished()
          }
        }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue(label: "benchmarks")
        return try countedBatch(items) { ran in
          for _ in 0..<items {
            let item = DispatchWorkItem { ran.increment() }
            queue.async(execute: item)
            item.wait()
          }
        }
      },
    ])

  private static let chain = Workload(
    "operation/chain", item: "make an operation that depends on the one before, run it",
    threads: 3, size: .fixed(1_000), scales: true,
    [
      .ours(chainBatch),
      Implementation("foundation") { items in
        let queue = Foundation.OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let order = Order()
        let stopwatch = Stopwatch()
        var operations: [Foundation.Operation] = []
        operations.reserveCapacity(items)
        for number in 0..<items {
          let operation = Foundation.BlockOperation { order.isNext(number) }
          if let previous = operations.last { operation.addDependency(previous) }
          operations.append(operation)
        }
        queue.addOperations(operations, waitUntilFinished: true)
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("the operations that ran in order", order.count, is: items)
        // Finished operations keep their dependencies, and letting a long chain go as a whole
        // overflows the stack.
        for number in operations.indices.dropFirst() {
          operations[number].removeDependency(operations[number - 1])
        }
        return nanoseconds
      },
      Implementation("dispatch", serialBatch),
    ])

  /// Without Foundation, whose time for each grows with their number: 100,000 take it minutes.
  private static let longChain = Workload(
    "operation/chain-long", item: "make an operation that depends on the one before, run it",
    threads: 3, size: .fixed(100_000),
    [.ours(chainBatch), Implementation("dispatch", serialBatch)])

  private static func chainBatch(_ items: Int) throws -> Int64 {
    let queue = ThreadOperationQueue(width: 2)
    let order = Order()
    let stopwatch = Stopwatch()
    var operations: [ThreadOperation] = []
    operations.reserveCapacity(items)
    for number in 0..<items {
      let operation = ClosureOperation { order.isNext(number) }
      if let previous = operations.last { try operation.addDependency(previous) }
      operations.append(operation)
    }
    try queue.add(contentsOf: operations)
    queue.waitForAll()
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the operations that ran in order", order.count, is: items)
    return nanoseconds
  }

  private static func serialBatch(_ items: Int) throws -> Int64 {
    // No dependencies there: what comes nearest is a serial queue, which cannot branch.
    let queue = DispatchQueue(label: "benchmarks")
    let group = DispatchGroup()
    let order = Order()
    let stopwatch = Stopwatch()
    for number in 0..<items { queue.async(group: group) { order.isNext(number) } }
    group.wait()
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the blocks that ran in order", order.count, is: items)
    return nanoseconds
  }

  private static let fan = Workload(
    "operation/fan", item: "make an operation between one that all wait for and one that waits",
    threads: 3, size: .fixed(1_000), scales: true,
    [
      .ours { items in
        let queue = ThreadOperationQueue(width: 2)
        let ran = Counter()
        let seen = Tally()
        let stopwatch = Stopwatch()
        let first = ClosureOperation { seen.value = 1 }
        let last = ClosureOperation { seen.value += ran.value }
        var operations: [ThreadOperation] = [first]
        operations.reserveCapacity(items + 2)
        for _ in 0..<items {
          let operation = ClosureOperation { ran.increment() }
          try operation.addDependency(first)
          try last.addDependency(operation)
          operations.append(operation)
        }
        operations.append(last)
        try queue.add(contentsOf: operations)
        queue.waitForAll()
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("what the last operation saw", seen.value, is: items + 1)
        return nanoseconds
      },
      Implementation("foundation") { items in
        let queue = Foundation.OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let ran = Counter()
        let seen = Tally()
        let stopwatch = Stopwatch()
        let first = Foundation.BlockOperation { seen.value = 1 }
        let last = Foundation.BlockOperation { seen.value += ran.value }
        var operations: [Foundation.Operation] = [first]
        operations.reserveCapacity(items + 2)
        for _ in 0..<items {
          let operation = Foundation.BlockOperation { ran.increment() }
          operation.addDependency(first)
          last.addDependency(operation)
          operations.append(operation)
        }
        operations.append(last)
        queue.addOperations(operations, waitUntilFinished: true)
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("what the last operation saw", seen.value, is: items + 1)
        return nanoseconds
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue(label: "benchmarks", attributes: .concurrent)
        let group = DispatchGroup()
        let end = DispatchSemaphore(value: 0)
        let ran = Counter()
        let seen = Tally()
        let stopwatch = Stopwatch()
        queue.async {
          seen.value = 1
          for _ in 0..<items { queue.async(group: group) { ran.increment() } }
          group.notify(queue: queue) {
            seen.value += ran.value
            end.signal()
          }
        }
        end.wait()
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("what the last block saw", seen.value, is: items + 1)
        return nanoseconds
      },
    ])

  /// Many that all wait for one, which is added last. Foundation's time for each grows with their
  /// number: 10,000 take it half a minute.
  private static let gate = Workload(
    "operation/gate", item: "make and queue an operation that waits for the last one queued",
    threads: 3, size: .fixed(1_000), scales: true,
    [
      .ours { items in
        let queue = ThreadOperationQueue(width: 2)
        return try countedBatch(items) { ran in
          let gate = ClosureOperation {}
          for _ in 0..<items {
            let operation = ClosureOperation { ran.increment() }
            try operation.addDependency(gate)
            try queue.add(operation)
          }
          try queue.add(gate)
          queue.waitForAll()
        }
      },
      Implementation("foundation") { items in
        let queue = Foundation.OperationQueue()
        queue.maxConcurrentOperationCount = 2
        return try countedBatch(items) { ran in
          let gate = Foundation.BlockOperation {}
          for _ in 0..<items {
            let operation = Foundation.BlockOperation { ran.increment() }
            operation.addDependency(gate)
            queue.addOperation(operation)
          }
          queue.addOperation(gate)
          queue.waitUntilAllOperationsAreFinished()
        }
      },
    ])

  private static let cancel = Workload(
    "operation/cancel", item: "cancel a queued operation, with all others, and see it finished",
    threads: 2, size: .fixed(10_000), scales: true,
    [
      .ours { items in
        let queue = ThreadOperationQueue(width: 1)
        queue.suspend()
        let ran = Counter()
        for _ in 0..<items { try queue.add { ran.increment() } }
        let stopwatch = Stopwatch()
        queue.cancelAll()
        queue.resume()
        queue.waitForAll()
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("the operations that ran", ran.value, is: 0)
        try WrongResult.unless("the operations left", queue.operationCount, is: 0)
        return nanoseconds
      },
      Implementation("foundation") { items in
        let queue = Foundation.OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let ran = Counter()
        for _ in 0..<items { queue.addOperation { ran.increment() } }
        let stopwatch = Stopwatch()
        queue.cancelAllOperations()
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("the operations that ran", ran.value, is: 0)
        return nanoseconds
      },
    ])
}

/// Checks that numbers come in order, on threads that take turns.
private final class Order: Sendable {
  private let tally = Tally()

  /// Counts the number if it follows the one before; otherwise the count stays behind.
  @inline(__always)
  func isNext(_ number: Int) {
    if tally.value == number { tally.increment() }
  }

  var count: Int { tally.value }
}
