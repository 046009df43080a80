import TestSupport
import Threading
import XCTest

/// The queue of the main thread. XCTest calls its tests on the main thread, which is what these need.
final class MainQueueTests: XCTestCase {
  func testWorkAndBarriersRunOnTheMainThreadInOrderAndKnowTheirQueue() throws {
    let queue = ThreadOperationQueue.main
    let journal = Journal<String>()
    let isOver = ExitFlag()
    @Sendable func note(_ what: String) {
      let isMain = ThreadRunLoop.main.isCurrent
      let isCurrent = ThreadOperationQueue.current === ThreadOperationQueue.main
      journal.append("\(what) \(isMain) \(isCurrent)")
    }
    try queue.add { note("first") }
    try queue.addBarrier { note("barrier") }
    try queue.add { note("second") }.addCompletion { _ in
      note("completion")
      isOver.set()
    }
    XCTAssertEqual(queue.operationCount, 3)
    XCTAssertEqual(run(until: isOver), .flagSet)
    XCTAssertEqual(
      journal.entries,
      ["first", "barrier", "second", "completion"].map { "\($0) true true" })
    XCTAssertEqual(queue.operationCount, 0)
  }

  func testCancelAllLetsNothingRun() throws {
    let queue = ThreadOperationQueue.main
    let ran = AtomicCounter()
    let operations = try (0..<3).map { _ in try queue.add { ran.increment() } }
    let isOver = ExitFlag()
    operations[2].addCompletion { _ in isOver.set() }
    queue.cancelAll()
    XCTAssertEqual(run(until: isOver), .flagSet)
    XCTAssertEqual(ran.value, 0)
    XCTAssertTrue(operations.allSatisfy { $0.isFinished })
  }

  func testASuspendedBarrierWaitsForItsResumption() throws {
    let queue = ThreadOperationQueue.main
    queue.suspend()
    let ran = AtomicCounter()
    let barrier = try queue.addBarrier { ran.increment() }
    let looked = ExitFlag()
    ThreadRunLoop.main.perform { looked.set() }
    XCTAssertEqual(run(until: looked), .flagSet)
    XCTAssertEqual(ran.value, 0)
    let isOver = ExitFlag()
    barrier.addCompletion { _ in isOver.set() }
    queue.resume()
    XCTAssertEqual(run(until: isOver), .flagSet)
    XCTAssertEqual(ran.value, 1)
  }

  /// A failing test ends after a minute.
  private func run(until flag: ExitFlag) -> ThreadRunLoop.ExitReason {
    ThreadRunLoop.main.run(until: flag, deadline: .now.advanced(by: .seconds(60)))
  }
}
