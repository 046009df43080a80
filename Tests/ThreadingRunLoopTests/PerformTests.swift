import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform

private struct TimedFault: Error {}

@Suite("Posting blocks to a loop", .endsInTime)
struct PerformTests {
  @Test("a block wakes a sleeping loop within milliseconds, though a timer is far away")
  func wakesSleeper() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    try thread.loop.add(ThreadTimer(after: .seconds(30)) { _ in })
    #expect(thread.waitUntilAsleep())
    let ran = Shared<MonotonicInstant?>(nil)
    let posted = MonotonicInstant.now
    #expect(thread.loop.perform { ran.set(.now) })
    let late = posted.duration(to: ran.wait { $0 })
    #expect(late < .seconds(1))
  }

  @Test("blocks of each thread run in order, each once", arguments: [1, 4])
  func order(producers: Int) throws {
    let thread = try LoopThread()
    let count = 20_000
    let seen = Shared([Int](repeating: 0, count: producers))
    let faults = Shared(0)
    try concurrently(producers) { producer in
      for number in 0..<count {
        thread.loop.perform {
          seen.change {
            if $0[producer] != number { faults.change { $0 += 1 } }
            $0[producer] += 1
          }
        }
      }
    }
    thread.end()
    #expect(seen.value == [Int](repeating: count, count: producers))
    #expect(faults.value == 0)
  }

  @Test("a block posted before the first run, or between two runs, is run by the next one")
  func betweenRuns() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      loop.perform { log.append("before") }
      log.append("\(loop.run())")
      loop.perform { log.append("between") }
      log.append("\(loop.poll())")
      return log.value
    }
    #expect(log == ["before", "finished", "between", "handledSource"])
  }

  @Test("a loop whose thread has ended refuses blocks and releases them")
  func endedLoop() throws {
    let loop = try onOwnThread { ThreadRunLoop.current }
    #expect(loop.hasEnded)
    let life = Life()
    weak let watched = life.token
    let accepted = loop.perform { [token = life.token] in _ = token }
    #expect(!accepted)
    life.token = nil
    #expect(watched == nil)
  }

  @Test("a block that waits when the thread ends is released without being run")
  func leftOver() throws {
    let ran = Shared(false)
    let weakToken = try onOwnThread { () -> WeakToken in
      let token = Token()
      ThreadRunLoop.current.perform {
        _ = token
        ran.set(true)
      }
      return WeakToken(token)
    }
    #expect(weakToken.token == nil)
    #expect(ran.value == false)
  }

  @Test("posting and waiting returns the result, and rethrows the error, of the block")
  func performAndWait() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let id = try thread.loop.performAndWait { SystemThread.currentID }
    #expect(id == thread.loop.threadID)
    #expect(throws: Refusal.self) { try thread.loop.performAndWait { throw Refusal() } }
  }

  @Test("a wait with a limit gives up a block that has not begun, and waits for one that has")
  func waitingWithLimit() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    #expect(try thread.loop.performAndWait(for: .seconds(60)) { 6 * 7 } == 42)
    #expect(throws: TimedFault.self) {
      try thread.loop.performAndWait(for: .seconds(60)) { throw TimedFault() }
    }
    let isHeld = Shared(false)
    let mayGoOn = Shared(false)
    let hasRun = Shared(false)
    thread.loop.perform {
      isHeld.set(true)
      mayGoOn.waitUntil { $0 }
    }
    isHeld.waitUntil { $0 }
    #expect(try thread.loop.performAndWait(until: .now) { hasRun.set(true) } == nil)
    #expect(try thread.loop.performAndWait(for: .milliseconds(5)) { hasRun.set(true) } == nil)
    mayGoOn.set(true)
    // After the two in the loop's order.
    try thread.loop.performAndWait {}
    #expect(!hasRun.value)
    let began = Shared<MonotonicInstant?>(nil)
    let limit = MonotonicInstant.now.advanced(by: .milliseconds(50))
    let answer = try thread.loop.performAndWait(until: limit) { () -> Int in
      began.set(.now)
      while MonotonicInstant.now < limit.advanced(by: .milliseconds(20)) {}
      return 7
    }
    // On a busy machine it may have come too late to begin.
    #expect(answer == 7 || began.value == nil)
  }

  @Test("of a wait's limit and the block's beginning exactly one comes first", arguments: 0..<4)
  func limitAgainstBeginning(seed: UInt64) throws {
    let thread = try LoopThread()
    defer { thread.end() }
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let ran = Shared(false)
      let limit = Duration.nanoseconds(Int64(random.next() % 60_000))
      let answer: Void? = try thread.loop.performAndWait(for: limit) { ran.set(true) }
      try thread.loop.performAndWait {}
      #expect((answer != nil) == ran.value)
    }
  }

  @Test("waiting for one's own loop runs the block at once, inside the call")
  func performAndWaitInline() throws {
    let answer = try onOwnThread { () -> Int? in
      let loop = ThreadRunLoop.current
      return try? loop.performAndWait(in: [ThreadRunLoop.Mode("never run")]) { 42 }
    }
    #expect(answer == 42)
  }

  @Test("waiting for a loop whose thread ends is an error, not a hang")
  func performAndWaitOnEndingLoop() throws {
    let mayEnd = Shared(false)
    let made = Shared<ThreadRunLoop?>(nil)
    let join = try inBackground {
      made.set(.current)
      mayEnd.waitUntil { $0 }
    }
    let loop = made.wait { $0 }
    let failed = Shared<ThreadingError?>(nil)
    let waiter = try inBackground {
      do { try loop.performAndWait {} } catch { failed.set(error as? ThreadingError) }
    }
    mayEnd.set(true)
    join()
    waiter()
    #expect(failed.value?.codeName == "ESRCH")
    #expect(throws: ThreadingError.self) { try loop.performAndWait {} }
  }

  @Test("a block that posts itself again does not hold up timers, and lets the deadline come")
  func selfPosting() throws {
    let (rounds, reasons) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let fired = Shared(0)
      let again = Repeater(loop)
      again.post()
      try? loop.add(
        ThreadTimer(every: .microseconds(100)) { _ in
          fired.change { $0 += 1 }
          if fired.value == 5 { loop.stop() }
        })
      let reason = loop.run(for: .seconds(50))
      return (again.rounds.value, [reason, loop.run(for: .milliseconds(5))])
    }
    #expect(rounds >= 5)
    #expect(reasons == [.stopped, .timedOut])
  }

  @Test("one wake serves a burst: posts to a loop that is awake make no system call")
  func burst() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let gate = Shared(false)
    let entered = Shared(false)
    thread.loop.perform {
      entered.set(true)
      gate.waitUntil { $0 }
    }
    entered.waitUntil { $0 }
    let before = thread.loop.counters.wakes
    let done = Shared(0)
    for _ in 0..<10_000 { thread.loop.perform { done.change { $0 += 1 } } }
    #expect(thread.loop.counters.wakes == before)
    gate.set(true)
    done.waitUntil { $0 == 10_000 }
  }
}

private struct Refusal: Error {}

/// An object whose life is watched.
final class Token: Sendable {}

final class Life {
  var token: Token? = Token()
}

final class WeakToken: Sendable {
  weak let token: Token?
  init(_ token: Token) { self.token = token }
}

private final class Repeater: Sendable {
  let rounds = Shared(0)
  let loop: ThreadRunLoop
  init(_ loop: ThreadRunLoop) { self.loop = loop }
  func post() {
    loop.perform { [self] in
      rounds.change { $0 += 1 }
      post()
    }
  }
}
