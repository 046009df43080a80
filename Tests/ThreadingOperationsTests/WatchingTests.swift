import Synchronization
import TestSupport
import Testing
import Threading

@Suite("State changes", .endsInTime)
struct WatchingTests {
  private typealias States = Journal<ThreadOperation.State>

  @Test("Each state is told once, in order, by hand and on a queue")
  func inOrder() throws {
    for byHand in [true, false] {
      let told = States()
      let during = Journal<[ThreadOperation.State]>()
      let operation = ClosureOperation { during.append(told.entries) }
      operation.onStateChange { _, state in told.append(state) }
      #expect(told.entries == [.pending])
      if byHand {
        try operation.start()
      } else {
        try ThreadOperationQueue(width: 1).add(operation)
        operation.wait()
      }
      #expect(told.entries == [.pending, .ready, .executing, .finished])
      #expect(during.entries == [[.pending, .ready, .executing]])
    }
  }

  @Test("Ready is told when the last dependency has gone, before there is a thread")
  func ready() throws {
    let queue = ThreadOperationQueue(width: 1)
    queue.suspend()
    let told = States()
    let first = ClosureOperation {}
    let second = ClosureOperation {}
    try second.addDependency(first)
    second.onStateChange { _, state in told.append(state) }
    try queue.add(second)
    #expect(told.entries == [.pending])
    try first.start()
    #expect(told.entries == [.pending, .ready])
    let third = ClosureOperation {}
    let alone = States()
    third.onStateChange { _, state in alone.append(state) }
    try queue.add(third)
    #expect(alone.entries == [.pending, .ready])
    queue.resume()
    queue.waitForAll()
    #expect(told.entries == [.pending, .ready, .executing, .finished])
    #expect(alone.entries == told.entries)
  }

  @Test("Dependants in the same queue are told as well")
  func dependants() throws {
    let queue = ThreadOperationQueue(width: 1)
    let told = States()
    let first = ClosureOperation {}
    let second = ClosureOperation {}
    try second.addDependency(first)
    second.onStateChange { _, state in told.append(state) }
    try queue.add(contentsOf: [second, first])
    queue.waitForAll()
    #expect(told.entries == [.pending, .ready, .executing, .finished])
  }

  @Test("One that is cancelled before its start never executes; one that has finished tells that")
  func cancelledAndLate() throws {
    let told = States()
    let operation = ClosureOperation {}
    operation.onStateChange { _, state in told.append(state) }
    operation.cancel()
    try ThreadOperationQueue(width: 1).add(operation)
    operation.wait()
    #expect(told.entries == [.pending, .ready, .finished])
    let late = States()
    operation.onStateChange { _, state in late.append(state) }
    #expect(late.entries == [.finished])
  }

  @Test("While a call takes long, the states that come are told after it, by the same thread")
  func overlapping() throws {
    let queue = ThreadOperationQueue(width: 1)
    let calls = Journal<String>()
    let threads = Locked<Set<UInt32>>([])
    let atWork = Gate()
    queue.suspend()
    let operation = ClosureOperation { atWork.open() }
    operation.onStateChange { _, state in
      calls.append("\(state)")
      let thread = ThreadHandle.current.kernelID
      threads.withLock { _ = $0.insert(thread) }
      // The operation goes on meanwhile, on a thread of the pool.
      if state == .ready {
        queue.resume()
        #expect(atWork.pass())
      }
      calls.append("end of \(state)")
    }
    try queue.add(operation)
    operation.wait()
    #expect(
      calls.entries
        == ["pending", "ready", "executing", "finished"].flatMap { [$0, "end of \($0)"] })
    #expect(threads.withLock { $0 } == [ThreadHandle.current.kernelID])
  }

  @Test("A watcher that comes while it runs and finishes hears of the end once", arguments: 0..<4)
  func race(seed: UInt64) throws {
    let queue = ThreadOperationQueue(width: 1)
    for round in 0..<(LongTests.areOn ? 25_000 : Scale.isSanitized ? 300 : 3_000) {
      let told = States()
      let operation = ClosureOperation { if round % 2 == 0 { SystemYield.now() } }
      try queue.add(operation)
      operation.onStateChange { _, state in told.append(state) }
      operation.wait()
      #expect(eventually { told.entries.last == .finished })
      let entries = told.entries
      #expect(entries.count { $0 == .finished } == 1)
      #expect(Set(entries).count == entries.count)
    }
  }

  @Test("Watchers are released after the end, and with an operation that never runs")
  func released() throws {
    let census = Census()
    let operation = ClosureOperation {}
    operation.onStateChange { [token = census.token()] _, _ in withExtendedLifetime(token) {} }
    #expect(census.count == 1)
    try operation.start()
    #expect(census.count == 0)
    do {
      let never = ClosureOperation {}
      never.onStateChange { [token = census.token()] _, _ in withExtendedLifetime(token) {} }
      #expect(census.count == 1)
    }
    #expect(census.count == 0)
  }

  @Test("As an asynchronous sequence they come in order and end")
  func sequence() async throws {
    let operation = ClosureOperation {}
    let states = operation.states
    try ThreadOperationQueue(width: 1).add(operation)
    var seen: [ThreadOperation.State] = []
    for await state in states { seen.append(state) }
    #expect(seen == [.pending, .ready, .executing, .finished])
    var again: [ThreadOperation.State] = []
    for await state in operation.states { again.append(state) }
    #expect(again == [.finished])
  }
}
