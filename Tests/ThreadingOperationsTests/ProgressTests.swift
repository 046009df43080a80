import Synchronization
import TestSupport
import Testing
import Threading

@Suite("WorkProgress", .endsInTime)
struct ProgressTests {
  @Test("Counts, fractions and percents, also of an unknown total")
  func counts() {
    let progress = WorkProgress()
    #expect(progress.counts.fraction == 0)
    progress.advance(by: 3)
    #expect(progress.counts.percent == 0)
    progress.addTotal(8)
    #expect(progress.description == "3 of 8 (37 %)")
    #expect(progress.counts.fraction == 0.375)
    progress.advance(by: 5)
    #expect(progress.counts.percent == 100)
    let almost = WorkProgress(total: 1_000)
    almost.advance(by: 999)
    #expect(almost.counts.percent == 99)
    almost.complete()
    #expect(almost.counts == WorkProgress(total: 1_000).completed())
  }

  @Test("Of many steps from four threads, each percent is told at most once, the last one last")
  func throttled() throws {
    let progress = WorkProgress(total: 100_000)
    let told = Journal<WorkProgress.Counts>()
    let inside = Gauge()
    progress.observe(on: nil) { counts in
      inside.enter()
      told.append(counts)
      inside.leave()
    }
    try concurrently(4) { _ in
      for _ in 0..<25_000 { progress.advance() }
    }
    let percents = told.entries.map(\.percent)
    #expect(percents.first == 0)
    #expect(percents.last == 100)
    #expect(Set(percents).count == percents.count)
    #expect(percents == percents.sorted())
    #expect(inside.most == 1)
    if !Scale.isSanitized { #expect(percents.count > 10) }
  }

  @Test("On a loop, what came while it was busy is told as one, on its thread")
  func onLoop() throws {
    let progress = WorkProgress(total: 10)
    let told = Journal<Int>()
    let posted = Gate()
    let readied = Gate()
    let home = Locked<ThreadRunLoop?>(nil)
    let end = ExitFlag()
    let join = try inBackground {
      let loop = ThreadRunLoop.current
      home.withLock { $0 = loop }
      progress.observe(on: loop) { counts in
        if !loop.isCurrent { Issue.record("on another thread") }
        told.append(counts.percent)
        if counts.percent == 100 { end.set() }
      }
      readied.open()
      posted.pass()
      loop.run(until: end)
    }
    readied.pass()
    for _ in 0..<10 { progress.advance() }
    posted.open()
    join()
    #expect(told.entries == [100])
  }

  @Test("An observer that is cancelled is told nothing more, and is released")
  func cancelled() {
    let census = Census()
    let progress = WorkProgress(total: 10)
    let told = Journal<Int>()
    do {
      let token = census.token()
      let observer = progress.observe(on: nil) { counts in
        withExtendedLifetime(token) { told.append(counts.completed) }
      }
      progress.advance()
      observer.cancel()
      #expect(observer.isCancelled)
    }
    progress.advance()
    #expect(told.entries == [0, 1])
    #expect(census.count == 0)
  }

  @Test("A body may count on, and is told of it")
  func reentrant() {
    let progress = WorkProgress(total: 3)
    let told = Journal<Int>()
    progress.observe(on: nil) { counts in
      told.append(counts.completed)
      if counts.completed < 3 { progress.advance() }
    }
    #expect(told.entries == [0, 1, 2, 3])
  }

  @Test("An operation that completes is done; one that fails or is cancelled stays where it was")
  func ofOperations() throws {
    for outcome in 0..<3 {
      let operation = ClosureOperation {
        guard let progress = ThreadOperation.current?.progress else { throw Oops(code: 1) }
        progress.addTotal(4)
        progress.advance()
        if outcome == 1 { throw Oops(code: 2) }
      }
      let progress = operation.progress
      #expect(progress === operation.progress)
      if outcome == 2 { operation.cancel() }
      try operation.start()
      #expect(progress.counts.percent == [100, 25, 0][outcome])
    }
    let untold = ClosureOperation {}
    try untold.start()
    #expect(untold.progress.counts.percent == 100)
  }

  @Test("A queue counts what is in it and what is added, and cancelled operations as done")
  func ofQueues() throws {
    let queue = ThreadOperationQueue(width: 2)
    queue.suspend()
    try queue.add {}
    let progress = queue.trackProgress()
    let told = Journal<WorkProgress.Counts>()
    progress.observe(on: nil) { told.append($0) }
    for _ in 0..<2 { try queue.add {} }
    try queue.add(contentsOf: [Open()])
    #expect(progress.counts.total == 4)
    queue.cancelAll()
    queue.resume()
    queue.waitForAll()
    #expect(progress.counts.completed == 4)
    #expect(progress.counts.fraction == 1)
    #expect(eventually { told.entries.last?.percent == 100 })
    // A new count begins with what is there.
    queue.suspend()
    try queue.add {}
    let next = queue.trackProgress()
    #expect(next.counts.total == 1)
    queue.resume()
    queue.waitForAll()
    #expect(next.counts.percent == 100)
    #expect(progress.counts.total == 5)
    #expect(progress.counts.completed == 4)
  }

  @Test("No count is ever above its total, whoever adds and finishes", arguments: [1, 4])
  func neverAbove(width: Int) throws {
    let queue = ThreadOperationQueue(width: width)
    let progress = queue.trackProgress()
    let above = Atomic<Int>(0)
    let isDone = Atomic<Bool>(false)
    let join = try inBackground {
      while !isDone.load(ordering: .acquiring) {
        let counts = progress.counts
        if counts.completed > counts.total { above.wrappingAdd(1, ordering: .relaxed) }
      }
    }
    try concurrently(3) { thread in
      for step in 0..<2_000 {
        do {
          let operation = try queue.add {}
          if step % 7 == thread { operation.cancel() }
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    queue.waitForAll()
    isDone.store(true, ordering: .releasing)
    join()
    #expect(above.load(ordering: .relaxed) == 0)
    #expect(progress.counts == WorkProgress.done(6_000))
  }

  @Test("Negative counts stop the program")
  func negative() async {
    await #expect(processExitsWith: .failure) { _ = WorkProgress(total: -1) }
    await #expect(processExitsWith: .failure) { WorkProgress().advance(by: -1) }
    await #expect(processExitsWith: .failure) { WorkProgress().addTotal(-1) }
  }
}

extension WorkProgress {
  fileprivate func completed() -> Counts {
    complete()
    return counts
  }

  fileprivate static func done(_ count: Int) -> Counts { WorkProgress(total: count).completed() }
}
