import Dispatch
import Threading

/// Loops whose rounds are done by several threads.
enum ParallelWorkloads {
  static let all = [forEach]

  private static let forEach = Workload(
    "parallel/for-each", item: "do one of 1,000,000 short rounds", threads: 2,
    size: .fixed(1_000_000), scales: true,
    [
      .ours { items in
        try batch(items) { results in
          parallelForEach(0..<items) { results.compute($0) }
        }
      },
      Implementation("ours-pieces") { items in
        try batch(items) { results in
          parallelForEachPiece(of: items) { piece in
            for number in piece { results.compute(number) }
          }
        }
      },
      Implementation("dispatch") { items in
        try batch(items) { results in
          DispatchQueue.concurrentPerform(iterations: items) { results.compute($0) }
        }
      },
      Implementation("dispatch-pieces") { items in
        // Pieces of a size that suits rounds as short as these; the caller has to know it.
        let size = 1_024
        return try batch(items) { results in
          DispatchQueue.concurrentPerform(iterations: (items + size - 1) / size) { piece in
            for number in (piece * size)..<min(items, (piece + 1) * size) {
              results.compute(number)
            }
          }
        }
      },
      Implementation("one-thread") { items in
        try batch(items) { results in
          for number in 0..<items { results.compute(number) }
        }
      },
    ])

  @inline(__always)
  private static func batch(_ items: Int, _ body: (Results) -> Void) throws -> Int64 {
    let results = Results(items)
    let stopwatch = Stopwatch()
    body(results)
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the rounds with a right result", results.right, is: items)
    return nanoseconds
  }

  /// A number for each round.
  // SAFETY of @safe and @unchecked: the memory is there from init to deinit; each round writes its
  // own number, and they are read when all threads are through.
  @safe
  private final class Results: @unchecked Sendable {
    private let numbers: UnsafeMutableBufferPointer<UInt64>

    init(_ count: Int) {
      unsafe numbers = .allocate(capacity: count)
      // Written once before the clock runs, so that no page is new to the threads.
      unsafe numbers.initialize(repeating: 0)
    }

    deinit {
      unsafe numbers.deallocate()
    }

    @inline(__always)
    func compute(_ number: Int) {
      unsafe numbers[number] = Self.value(number)
    }

    var right: Int {
      unsafe numbers.indices.count { unsafe numbers[$0] == Self.value($0) }
    }

    @inline(__always)
    private static func value(_ number: Int) -> UInt64 {
      Work.steps(Work.stepsInside, from: UInt64(number + 1))
    }
  }
}
