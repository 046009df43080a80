import Dispatch
import Threading

/// Closures handed to threads that are there already.
enum PoolWorkloads {
  static let all = [closures, fork, handOver, nested]

  private static let closures = Workload(
    "pool/closures", item: "hand a closure to a pool, have it run", threads: 3,
    size: .fixed(100_000), scales: true,
    [
      .ours { items in
        let pool = ThreadPool.shared
        return try batch(items) { body in try pool.run(body) }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue.global()
        return try batch(items) { body in queue.async(execute: body) }
      },
    ])

  @inline(__always)
  private static func batch(
    _ items: Int, _ hand: (@escaping @Sendable () -> Void) throws -> Void
  ) throws -> Int64 {
    let ran = Counter()
    let done = CountdownLatch(items)
    let stopwatch = Stopwatch()
    for _ in 0..<items {
      try hand {
        ran.increment()
        done.countDown()
      }
    }
    done.wait()
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the closures that ran", ran.value, is: items)
    return nanoseconds
  }

  /// A tree of closures: each hands the pool two others, with half of what is left.
  private static let fork = Workload(
    "pool/fork", item: "hand a closure to a pool from inside another, have it run", threads: 3,
    size: .fixed(100_000), scales: true,
    [
      .ours { items in
        let pool = ThreadPool.shared
        return try forkBatch(items) { body in
          do {
            try pool.run(body)
          } catch {
            fatalError("the shared pool has been shut down")
          }
        }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue.global()
        return try forkBatch(items) { body in queue.async(execute: body) }
      },
    ])

  @inline(__always)
  private static func forkBatch(
    _ items: Int, _ hand: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) throws -> Int64 {
    let ran = Counter()
    let done = CountdownLatch(items)
    @Sendable func fork(_ count: Int) {
      ran.increment()
      let left = (count - 1) / 2
      let right = count - 1 - left
      if left > 0 { hand { fork(left) } }
      if right > 0 { hand { fork(right) } }
      done.countDown()
    }
    let stopwatch = Stopwatch()
    hand { fork(items) }
    done.wait()
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the closures that ran", ran.value, is: items)
    return nanoseconds
  }

  private static let handOver = Workload(
    "pool/hand-over", item: "hand a closure to an idle pool, wait until it has run", threads: 2,
    [
      .ours { items in
        let pool = ThreadPool.shared
        return try handOverBatch(items) { body in try pool.run(body) }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue.global()
        return try handOverBatch(items) { body in queue.async(execute: body) }
      },
      Implementation("kernel", PingPong.batch(on: .free) { FutexSignal() }),
    ])

  @inline(__always)
  private static func handOverBatch(
    _ items: Int, _ hand: (@escaping @Sendable () -> Void) throws -> Void
  ) throws -> Int64 {
    let ran = Tally()
    let back = FutexSignal()
    let stopwatch = Stopwatch()
    for _ in 0..<items {
      try hand {
        ran.increment()
        back.signal()
      }
      back.wait()
    }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the closures that ran", ran.value, is: items)
    return nanoseconds
  }

  /// Loops in each round of a loop: 100 outer ones, the rest inside.
  private static let nested = Workload(
    "pool/nested", item: "do a short round of a parallel loop inside another", threads: 2,
    size: .fixed(100_000), scales: true,
    [
      .ours { items in
        try nestedBatch(items) { outer, inner, body in
          parallelForEach(0..<outer) { _ in parallelForEach(0..<inner) { body($0) } }
        }
      },
      Implementation("dispatch") { items in
        try nestedBatch(items) { outer, inner, body in
          DispatchQueue.concurrentPerform(iterations: outer) { _ in
            DispatchQueue.concurrentPerform(iterations: inner) { body($0) }
          }
        }
      },
      Implementation("one-thread") { items in
        try nestedBatch(items) { outer, inner, body in
          for _ in 0..<outer { for number in 0..<inner { body(number) } }
        }
      },
    ])

  @inline(__always)
  private static func nestedBatch(
    _ items: Int, _ loops: (Int, Int, @escaping @Sendable (Int) -> Void) -> Void
  ) throws -> Int64 {
    let outer = min(100, items)
    let inner = items / outer
    // Two counts, since rounds of one number are not all done by one thread.
    let ran = StripedCounter()
    let stopwatch = Stopwatch()
    loops(outer, inner) { number in
      Sink.swallow(Work.steps(Work.stepsInside, from: UInt64(number + 1)))
      ran.add()
    }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the rounds done", ran.sum, is: outer * inner)
    return nanoseconds
  }
}
