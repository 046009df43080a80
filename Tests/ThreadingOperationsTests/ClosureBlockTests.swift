import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Several closures in one operation", .endsInTime)
struct ClosureBlockTests {
  @Test("Each runs once, and the operation finishes once, by hand, on a pool and on a loop")
  func onceEach() throws {
    for place in 0..<3 {
      let runs = Journal<Int>()
      let ends = Journal<Int>()
      let operation = ClosureOperation { runs.append(0) }
      #expect(operation.blockCount == 1)
      for number in 1...9 { try operation.addBlock { runs.append(number) } }
      #expect(operation.blockCount == 10)
      operation.addCompletion { _ in ends.append(runs.entries.count) }
      switch place {
      case 0: try operation.start()
      case 1:
        try ThreadOperationQueue(width: 1).add(operation)
        operation.wait()
      default:
        let join = try inBackground {
          do {
            let queue = ThreadOperationQueue(loop: .current)
            try queue.add(operation)
            let end = ExitFlag()
            operation.addCompletion { _ in end.set() }
            ThreadRunLoop.current.run(until: end)
          } catch {
            Issue.record("\(error)")
          }
        }
        join()
      }
      #expect(runs.entries.sorted() == Array(0..<10))
      if place == 2 { #expect(runs.entries == Array(0..<10)) }
      #expect(ends.entries == [10])
      #expect(operation.blockCount == 10)
    }
  }

  @Test("Two closures of one operation run at once, and it is the current one in both")
  func atOnce() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let queue = ThreadOperationQueue(width: 1, pool: pool)
    let meeting = CyclicBarrier(2)
    let current = Journal<ObjectIdentifier?>()
    let meet: @Sendable () -> Void = {
      current.append(ThreadOperation.current.map { ObjectIdentifier($0) })
      _ = meeting.wait()
    }
    let operation = ClosureOperation(meet)
    try operation.addBlock(meet)
    try queue.add(operation)
    operation.wait()
    #expect(current.entries == [ObjectIdentifier(operation), ObjectIdentifier(operation)])
    pool.shutDown()
  }

  @Test("All run although one throws; the error is the operation's")
  func errors() throws {
    let runs = Atomic<Int>(0)
    let operation = ClosureOperation { throw Oops(code: 7) }
    for _ in 0..<5 { try operation.addBlock { runs.wrappingAdd(1, ordering: .relaxed) } }
    try ThreadOperationQueue().add(operation)
    operation.wait()
    #expect(operation.error as? Oops == Oops(code: 7))
    #expect(runs.load(ordering: .relaxed) == 5)
  }

  @Test("Closures that have not begun are left out after a cancellation, and all are released")
  func cancelled() throws {
    let census = Census()
    do {
      let runs = Journal<Int>()
      let operation = ClosureOperation { ThreadOperation.current?.cancel() }
      let join = try inBackground {
        do {
          // On a loop they run one after another.
          let queue = ThreadOperationQueue(loop: .current)
          for number in 1...3 {
            let token = census.token()
            try operation.addBlock { withExtendedLifetime(token) { runs.append(number) } }
          }
          try queue.add(operation)
          let end = ExitFlag()
          operation.addCompletion { _ in end.set() }
          ThreadRunLoop.current.run(until: end)
        } catch {
          Issue.record("\(error)")
        }
      }
      join()
      #expect(runs.entries.isEmpty)
      #expect(census.count == 0, "released although the operation is kept")
      let never = ClosureOperation {}
      try never.addBlock { [token = census.token()] in withExtendedLifetime(token) {} }
      never.cancel()
      try never.start()
      #expect(census.count == 0)
    }
  }

  @Test("Adding to one that has started or finished is refused, and the operation stays as it was")
  func late() throws {
    let inside = Gate()
    let leave = Gate()
    let operation = ClosureOperation {
      inside.open()
      leave.pass()
    }
    try ThreadOperationQueue().add(operation)
    inside.pass()
    #expect(throws: ThreadOperationError.self) { try operation.addBlock {} }
    leave.open()
    operation.wait()
    do {
      try operation.addBlock {}
      Issue.record("taken after the end")
    } catch {
      #expect(error.reason == .hasStarted)
      #expect(error.state == .finished)
    }
    #expect(operation.blockCount == 1)
  }

  @Test("Of closures added while it starts, each runs once or is refused", arguments: 0..<20)
  func race(seed: Int) throws {
    let queue = ThreadOperationQueue(width: 2)
    for _ in 0..<50 {
      let ran = Atomic<Int>(0)
      let taken = Atomic<Int>(0)
      let operation = ClosureOperation {}
      try concurrently(2) { thread in
        if thread == 0 {
          do { try queue.add(operation) } catch { Issue.record("\(error)") }
          return
        }
        for _ in 0..<20 {
          do {
            try operation.addBlock { ran.wrappingAdd(1, ordering: .relaxed) }
            taken.wrappingAdd(1, ordering: .relaxed)
          } catch {
            return
          }
        }
      }
      operation.wait()
      #expect(ran.load(ordering: .relaxed) == taken.load(ordering: .relaxed))
    }
  }
}
