import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Pipelines", .endsInTime)
struct PipelineTests {
  @Test("Every item goes through all stages once, in order if asked", arguments: [1, 2, 7, 64])
  func order(inFlight: Int) throws {
    let seen = Journal<Int>()
    let unordered = Journal<Int>()
    let pipeline = WorkPipeline(of: Int.self)
      .parallel { number -> Int in
        if number % 7 == 0 { SystemYield.now() }
        return number * 2
      }
      .oneAtATime { number -> String in
        unordered.append(number)
        return String(number)
      }
      .parallel { text in (text, text.utf8.count) }
      .inOrder { pair in seen.append(Int(pair.0) ?? -1) }
    for _ in 0..<2 {
      let count = try pipeline.run(0..<500, inFlight: inFlight)
      #expect(count == 500)
    }
    let expected = (0..<500).map { $0 * 2 }
    #expect(seen.entries == expected + expected)
    #expect(unordered.entries.sorted() == (expected + expected).sorted())
  }

  @Test("No more items are under way than allowed, and a slow stage holds back the source")
  func backPressure() throws {
    let pool = try ThreadPool(maximumThreads: 3)
    let gauge = Gauge()
    let source = (0..<300).lazy.map { number -> Int in
      gauge.enter()
      return number
    }
    let last = Gauge()
    try WorkPipeline(of: Int.self)
      .parallel { $0 }
      .inOrder { _ in
        last.enter()
        SystemYield.now()
        last.leave()
        gauge.leave()
      }
      .run(source, inFlight: 5, on: pool)
    #expect(gauge.most <= 5)
    #expect(gauge.now == 0)
    #expect(last.most == 1)
    pool.shutDown()
  }

  @Test("Stages of one item at a time do not overlap, parallel ones do")
  func overlap() throws {
    let pool = try ThreadPool(maximumThreads: 2)
    let meeting = CyclicBarrier(2)
    let one = Gauge()
    let count = try WorkPipeline(of: Int.self)
      .parallel { _ in _ = meeting.wait() }
      .oneAtATime { _ in
        one.enter()
        SystemYield.now()
        one.leave()
      }
      .run(0..<40, inFlight: 4, on: pool)
    #expect(count == 40)
    #expect(one.most == 1)
    pool.shutDown()
  }

  @Test("The first error ends the run and is thrown, nothing is kept, and the pipeline runs again")
  func errors() throws {
    let census = Census()
    let isBad = Atomic<Bool>(true)
    let asked = Atomic<Int>(0)
    let pipeline = WorkPipeline(of: (Int, Census.Token).self)
      .parallel { item -> (Int, Census.Token) in
        if item.0 == 60, isBad.load(ordering: .relaxed) { throw Oops(code: item.0) }
        return item
      }
      .inOrder { _ in }
    let source = (0..<10_000).lazy.map { number in
      asked.wrappingAdd(1, ordering: .relaxed)
      return (number, census.token())
    }
    #expect(throws: Oops(code: 60)) { try pipeline.run(source, inFlight: 8) }
    #expect(asked.load(ordering: .relaxed) <= 60 + 8 + 1)
    #expect(eventually { census.count == 0 })
    isBad.store(false, ordering: .relaxed)
    let count = try pipeline.run(source.prefix(100))
    #expect(count == 100)
    #expect(eventually { census.count == 0 })
  }

  @Test("A source may fail: its error ends the run and is thrown, and nothing is kept")
  func failingSource() throws {
    let census = Census()
    let pipeline = WorkPipeline(of: (Int, Census.Token).self).parallel { $0 }.inOrder { _ in }
    for failsAt in [0, 1, 50] {
      let asked = AtomicCounter()
      #expect(throws: Oops(code: failsAt)) {
        try pipeline.run(inFlight: 4) {
          // Asked by one thread at a time, and not again after it has failed.
          let number = asked.value
          asked.increment()
          if number == failsAt { throw Oops(code: failsAt) }
          return (number, census.token())
        }
      }
      #expect(asked.value == failsAt + 1)
    }
    #expect(eventually { census.count == 0 })
  }

  @Test("A closure as the source is asked until it has no more, by one thread at a time")
  func pulledSource() throws {
    let inside = Gauge()
    let seen = Journal<Int>()
    let pipeline = WorkPipeline(of: Int.self).parallel { $0 * 2 }.inOrder { seen.append($0) }
    var number = 0
    let count = try pipeline.run(inFlight: 6) {
      inside.enter()
      defer { inside.leave() }
      guard number < 300 else { return nil }
      number += 1
      return number
    }
    #expect(count == 300)
    #expect(inside.most == 1)
    #expect(seen.entries == (1...300).map { $0 * 2 })
    #expect(try pipeline.run { nil } == 0)
    // A stage's error is the run's, as with a sequence.
    let failing = WorkPipeline(of: Int.self).parallel { if $0 == 9 { throw Oops(code: $0) } }
    let numbers = AtomicCounter()
    #expect(throws: Oops(code: 9)) { try failing.run { numbers.increment() } }
  }

  @Test("An endless source is ended by the caller's word, and what is in flight goes through")
  func endless() throws {
    let written = Atomic<Int>(0)
    let count = try WorkPipeline(of: Int.self)
      .parallel { $0 }
      .inOrder { _ in written.wrappingAdd(1, ordering: .relaxed) }
      .run(
        sequence(first: 0) { $0 + 1 }, inFlight: 3,
        while: { written.load(ordering: .relaxed) < 100 })
    #expect(count >= 100 && count <= 103)
    #expect(count == written.load(ordering: .relaxed))
  }

  @Test("Nothing in, nothing out; no stages; items that are optional")
  func edges() throws {
    let none = try WorkPipeline(of: Int.self).parallel { $0 }.run([])
    #expect(none == 0)
    let all = try WorkPipeline(of: Int.self).run(0..<10)
    #expect(all == 10)
    let seen = Journal<Int?>()
    try WorkPipeline(of: Int?.self).inOrder { seen.append($0) }.run([1, nil, 3])
    #expect(seen.entries == [1, nil, 3])
  }

  @Test("Pipelines in pipelines on a pool of one thread come to their end")
  func nested() throws {
    let pool = try ThreadPool(maximumThreads: 1)
    let queue = ThreadOperationQueue(width: 1, pool: pool)
    let total = Atomic<Int>(0)
    let operation = try queue.add {
      try WorkPipeline(of: Int.self)
        .parallel { outer in
          try WorkPipeline(of: Int.self).parallel { $0 }
            .inOrder { total.wrappingAdd($0 * outer, ordering: .relaxed) }
            .run(0..<10, on: pool)
        }
        .inOrder { _ in }
        .run(0..<10, on: pool)
    }
    operation.wait()
    #expect(operation.error == nil)
    #expect(total.load(ordering: .relaxed) == 45 * 45)
    pool.shutDown()
  }

  @Test("Many pipelines at once, from many threads")
  func manyThreads() throws {
    try concurrently(4) { thread in
      for round in 0..<20 {
        let seen = Journal<Int>()
        do {
          try parallelMapInOrder(0..<50, inFlight: 1 + round % 5, { $0 + thread }) {
            seen.append($0)
          }
        } catch {
          Issue.record("\(error)")
        }
        #expect(seen.entries == (0..<50).map { $0 + thread })
      }
    }
  }

  @Test("A map in order keeps no more values than allowed, and throws the first error")
  func mapInOrder() throws {
    let gauge = Gauge()
    let seen = Journal<Int>()
    let count = try parallelMapInOrder(
      0..<200, inFlight: 4,
      { number -> Int in
        gauge.enter()
        return number * number
      },
      { value in
        seen.append(value)
        gauge.leave()
      })
    #expect(count == 200)
    #expect(gauge.most <= 4)
    #expect(seen.entries == (0..<200).map { $0 * $0 })
    #expect(throws: Oops(code: 5)) {
      try parallelMapInOrder(0..<200, { $0 }) { if $0 == 5 { throw Oops(code: 5) } }
    }
  }

  @Test("No items in flight stop the program")
  func noneInFlight() async {
    await #expect(processExitsWith: .failure) {
      _ = try WorkPipeline(of: Int.self).run(0..<1, inFlight: 0)
    }
  }
}
