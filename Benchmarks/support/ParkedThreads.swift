import Threading
import ThreadingPlatform

/// Threads that have started and wait, so that what they hold can be measured.
package final class ParkedThreads: Sendable {
  private let barrier: CyclicBarrier
  private let count: Int

  /// Room for so many threads.
  package init(_ count: Int) {
    self.count = count
    // The threads, and the one that measures.
    barrier = CyclicBarrier(count + 1)
  }

  /// What each thread runs: `step` between two meetings with the one that measures.
  package func park(_ step: () -> Void) {
    _ = barrier.wait()
    step()
    _ = barrier.wait()
    _ = barrier.wait()
  }

  /// What the threads hold, in bytes, by `memory`: between their having started and having taken
  /// their step when `stepOnly`, or else from before they were started.
  ///
  /// - Throws: what `start` throws. The threads that were started by then are let go.
  package func measure(
    _ memory: () -> Int64, stepOnly: Bool, start: (_ number: Int) throws -> Void
  ) throws -> Int64 {
    let nothing = memory()
    for number in 0..<count {
      do { try start(number) } catch {
        barrier.breakUp()
        throw error
      }
    }
    _ = barrier.wait()
    let started = memory()
    _ = barrier.wait()
    let stepped = memory()
    _ = barrier.wait()
    return stepped - (stepOnly ? started : nothing)
  }

  /// Runs `body` while as many bare threads are parked as use up the stacks that the C library
  /// keeps of threads that have ended: what is started in `body` then gets new ones.
  package static func withStacksUsedUp<Result>(
    stackSize: Int, _ body: () throws -> Result
  ) throws -> Result {
    // It keeps 40 MiB; stacks that are larger than asked for count as one as well.
    let count = (40 << 20) / stackSize + 20
    let gate = CyclicBarrier(count + 1)
    var threads: [SystemThread] = []
    defer {
      gate.breakUp()
      for thread in threads { thread.join() }
    }
    for _ in 0..<count {
      threads.append(
        try SystemThread.start(.init(stackSize: stackSize)) {
          _ = gate.wait()
          _ = gate.wait()
        })
    }
    _ = gate.wait()
    return try body()
  }
}
