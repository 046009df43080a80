import BenchmarkSupport
import TestSupport
import Testing
import ThreadingLocks

@testable import benchmarks

@Suite("Team", .endsInTime)
struct TeamTests {
  /// What the threads of a team write down.
  private final class Notes<Value: Sendable>: Sendable {
    private let values = Locked<[Value]>([])

    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
  }

  @Test("each thread runs the errand once, with its number", .endsInTime)
  func numbers() throws {
    let notes = Notes<Int>()
    let nanoseconds = try Team.run(5) { notes.add($0) }
    #expect(notes.all.sorted() == [0, 1, 2, 3, 4])
    #expect(nanoseconds > 0)
  }

  @Test("the threads run where they are to run", .endsInTime)
  func placement() throws {
    let free = ProcessorBinding.ofCurrentThread
    try #require(!free.isEmpty)

    let together = Notes<[Int]>()
    _ = try Team.run(3, on: .oneProcessor) { _ in together.add(ProcessorBinding.ofCurrentThread) }
    #expect(together.all == Array(repeating: [free[0]], count: 3))

    let apart = Notes<[Int]>()
    _ = try Team.run(free.count, on: .ownProcessors) { _ in
      apart.add(ProcessorBinding.ofCurrentThread)
    }
    #expect(apart.all.flatMap(\.self).sorted() == free)

    let anywhere = Notes<[Int]>()
    _ = try Team.run(2) { _ in anywhere.add(ProcessorBinding.ofCurrentThread) }
    #expect(anywhere.all == [free, free])
    // The caller is where it was.
    #expect(ProcessorBinding.ofCurrentThread == free)
  }
}
