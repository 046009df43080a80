import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("CustomInputSource", .endsInTime)
struct CustomInputSourceTests {
  @Test("signalled by another thread while it is added to that loop, it is served")
  func signalledWhileAdded() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    // The signal between the two steps of adding: the same steps one after the other.
    let isHandled = Shared(false)
    let mailbox = Mailbox<Int> { _ in isHandled.set(true) }
    thread.loop.items.signal(mailbox)
    try thread.loop.add(mailbox)
    mailbox.send(1)
    isHandled.waitUntil { $0 }
    for _ in 0..<(ThreadSanitizer.isActive ? 200 : 2_000) {
      let isServed = Shared(false)
      let source = CustomInputSource { _ in isServed.set(true) }
      try concurrently(2) { index in
        if index == 0 {
          try? thread.loop.add(source)
        } else {
          while !source.signal(thread.loop) {}
        }
      }
      isServed.waitUntil { $0 }
      source.cancel()
    }
  }

  @Test("a signal from another thread wakes the loop and calls the handler there")
  func wakes() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let calls = Shared<[UInt32]>([])
    let source = CustomInputSource { _ in calls.append(SystemThread.currentID) }
    try thread.loop.add(source)
    for round in 1...20 {
      #expect(thread.waitUntilAsleep())
      source.signal()
      calls.waitUntil { $0.count == round }
    }
    #expect(Set(calls.value) == [thread.loop.threadID])
  }

  @Test("signals are merged until the handler is called; one during the call brings another call")
  func merged() throws {
    let (calls, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let calls = Shared(0)
      let source = CustomInputSource { source in
        calls.change { $0 += 1 }
        if calls.value == 1 {
          source.signal()
          source.signal()
        } else {
          source.cancel()
        }
      }
      try? loop.add(source)
      for _ in 0..<100 { source.signal() }
      let reason = loop.run()
      return (calls.value, reason)
    }
    #expect(calls == 2)
    #expect(reason == .finished)
  }

  @Test("on several loops each is signalled, or one of them")
  func severalLoops() throws {
    let threads = [try LoopThread(), try LoopThread()]
    let calls = Shared<[UInt32: Int]>([:])
    let source = CustomInputSource { _ in
      calls.change { $0[SystemThread.currentID, default: 0] += 1 }
    }
    for thread in threads { try thread.loop.add(source) }
    #expect(source.loops.count == 2)
    source.signal()
    calls.waitUntil { $0.count == 2 }
    let second = threads[1].loop
    #expect(source.signal(second))
    calls.waitUntil { $0[second.threadID] == 2 }
    threads[0].end()
    #expect(source.signal(threads[0].loop) == false)
    #expect(source.loops.count == 1)
    threads[1].end()
    #expect(calls.value[threads[0].loop.threadID] == 1)
  }

  @Test("it is told of each loop that it comes onto and is taken off, once")
  func scheduleAndCancel() throws {
    let log = Shared<[String]>([])
    let thread = try LoopThread()
    let source = CustomInputSource(
      schedule: { _, _ in log.append("scheduled") }, cancel: { _, _ in log.append("cancelled") },
      perform: { _ in })
    try thread.loop.add(source)
    #expect {
      try thread.loop.add(source)
    } throws: {
      ($0 as? ThreadingError)?.codeName == "EEXIST"
    }
    #expect(source.cancel(on: thread.loop))
    #expect(!source.cancel(on: thread.loop))
    try thread.loop.add(source)
    thread.end()
    source.cancel()
    #expect(log.value == ["scheduled", "cancelled", "scheduled", "cancelled"])
    #expect(throws: ThreadingError.self) { try thread.loop.add(source) }
    #expect(source.loops.isEmpty)
  }

  @Test("a signal in another mode waits for a run in one of its own")
  func modes() throws {
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let special = ThreadRunLoop.Mode("special")
      let calls = Shared(0)
      let source = CustomInputSource { _ in calls.change { $0 += 1 } }
      try? loop.add(source, in: [special])
      source.signal()
      var counts: [Int] = []
      loop.run(for: .milliseconds(5))
      counts.append(calls.value)
      source.signal()
      #expect(loop.run(mode: special) == .handledSource)
      counts.append(calls.value)
      return counts
    }
    #expect(counts == [0, 1])
  }

  @Test("a source that signals itself does not hold up blocks and timers")
  func selfSignalling() throws {
    let (calls, timers, ran, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let (calls, timers, ran) = (Shared(0), Shared(0), Shared(false))
      let source = CustomInputSource { source in
        calls.change { $0 += 1 }
        source.signal()
        // Bounded, so that the test ends if the rule is broken.
        if calls.value == 1_000_000 { source.cancel() }
      }
      try? loop.add(source)
      source.signal()
      try? loop.add(
        ThreadTimer(every: .microseconds(100)) { _ in
          timers.change { $0 += 1 }
          guard timers.value == 20 else { return }
          loop.perform {
            ran.set(true)
            loop.stop()
          }
        })
      return (calls, timers, ran, loop.run())
    }
    #expect(calls.value >= timers.value && calls.value < 1_000_000)
    #expect(timers.value >= 20)
    #expect(ran.value)
    #expect(reason == .stopped)
  }

  @Test(
    "the classic worker: a handler sets a value in the thread dictionary, looked at between chunks")
  func classicExit() throws {
    let source = Shared<CustomInputSource?>(nil)
    let chunks = Shared(0)
    let join = try inBackground {
      let loop = ThreadRunLoop.current
      let input = CustomInputSource { _ in ThreadDictionary.current["exitNow"] = true }
      try? loop.add(input)
      source.set(input)
      while ThreadDictionary.current["exitNow"] as? Bool != true {
        chunks.change { $0 += 1 }
        loop.poll()
      }
    }
    let input = source.wait { $0 }
    chunks.waitUntil { $0 > 100 }
    input.signal()
    join()
  }

  @Test(
    "signalled by racing threads while it comes onto and off loops", arguments: [1, 2] as [UInt64])
  func churn(seed: UInt64) throws {
    let threads = [try LoopThread(), try LoopThread()]
    let (scheduled, cancelled, calls) = (Shared(0), Shared(0), Shared(0))
    let source = CustomInputSource(
      schedule: { _, _ in scheduled.change { $0 += 1 } },
      cancel: { _, _ in cancelled.change { $0 += 1 } },
      perform: { _ in calls.change { $0 += 1 } })
    try concurrently(4) { index in
      var random = SeededGenerator(seed: seed &* 11 &+ UInt64(index))
      for _ in 0..<500 {
        let loop = threads[Int.random(in: 0..<2, using: &random)].loop
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try? loop.add(source)
        case 1: source.cancel(on: loop)
        case 2: source.signal(loop)
        case 3: source.signal()
        default: SystemThread.yield()
        }
      }
    }
    for thread in threads { thread.end() }
    #expect(source.loops.isEmpty)
    #expect(scheduled.value == cancelled.value)
  }
}
