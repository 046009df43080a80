import Foundation
import TestSupport
import Testing
import ThreadingFoundation

@Suite("Progress of Foundation", .endsInTime)
struct FoundationProgressTests {
  /// Runs the loop of the calling thread until `condition` holds.
  private func serve(until condition: () -> Bool) -> Bool {
    eventually {
      _ = ThreadRunLoop.current.run(for: .milliseconds(2))
      return condition()
    }
  }

  /// A thread of its own, whose loop is nobody else's.
  private func onOwnThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let join = try inBackground {
      do { try body() } catch { Issue.record("\(error)") }
    }
    join()
  }

  @Test("The counts of an operation are shown, and all are done at its end")
  func counts() throws {
    try onOwnThread {
      let operation = ClosureOperation {
        guard let progress = ThreadOperation.current?.progress else { return }
        progress.addTotal(5)
        progress.advance(by: 2)
      }
      let shown = operation.foundationProgress(on: .current)
      try ThreadOperationQueue().add(operation)
      #expect(serve { shown.isFinished && shown.totalUnitCount == 5 })
      #expect(shown.completedUnitCount == 5)
      #expect(shown.fractionCompleted == 1)
      #expect(!shown.isCancelled)
    }
  }

  @Test("Cancelling the Progress cancels the operation, and the other way round")
  func cancelBothWays() throws {
    try onOwnThread {
      let first = ClosureOperation {}
      let second = ClosureOperation {}
      let shown = [first, second].map { $0.foundationProgress(on: .current) }
      shown[0].cancel()
      #expect(serve { first.isCancelled })
      second.cancel()
      #expect(serve { shown[1].isCancelled })
      #expect(shown[0].isCancelled)
      for operation in [first, second] { try operation.start() }
    }
  }

  @Test("Cancelled operations of a queue count as done")
  func cancelledAreDone() throws {
    try onOwnThread {
      let queue = ThreadOperationQueue(width: 1)
      queue.suspend()
      let shown = queue.foundationProgress(on: .current)
      for _ in 0..<4 { try queue.add {} }
      queue.cancelAll()
      queue.resume()
      queue.waitForAll()
      #expect(serve { shown.isFinished && shown.totalUnitCount == 4 })
      #expect(shown.fractionCompleted == 1)
    }
  }

  @Test("Cancelling the Progress of a queue reaches its operations")
  func cancelReachesOperations() throws {
    try onOwnThread {
      let queue = ThreadOperationQueue(width: 1)
      queue.suspend()
      let shown = queue.foundationProgress(on: .current)
      let ran = AtomicCounter(0)
      let operations = (0..<3).map { _ in ClosureOperation { ran.increment() } }
      try queue.add(contentsOf: operations)
      shown.cancel()
      #expect(serve { operations.allSatisfy(\.isCancelled) })
      queue.resume()
      queue.waitForAll()
      #expect(ran.value == 0)
      #expect(serve { shown.isFinished })
    }
  }

  @Test("A Progress that is let go leaves the operation alone")
  func letGo() throws {
    try onOwnThread {
      weak var gone: ThreadOperation?
      do {
        let operation = ClosureOperation {}
        _ = operation.foundationProgress(on: .current)
        gone = operation
        try operation.start()
        #expect(!operation.isCancelled)
      }
      #expect(serve { gone == nil })
    }
  }
}
