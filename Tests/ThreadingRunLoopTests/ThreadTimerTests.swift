import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("ThreadTimer", .endsInTime)
struct ThreadTimerTests {
  @Test("a grid that begins before the clock's zero is kept to")
  func distantPast() throws {
    let firings = try onOwnThread {
      let loop = ThreadRunLoop.current
      let firings = Shared<[ThreadTimer.Firing]>([])
      let first = MonotonicInstant(nanoseconds: .min)
      try? loop.add(
        ThreadTimer(every: .milliseconds(1), startingAt: first) { firing in
          firings.append(firing)
          if firings.value.count == 2 { firing.timer.cancel() }
        })
      loop.run(for: .seconds(20))
      return firings.value
    }
    try #require(firings.count == 2)
    #expect(firings[0].scheduled.nanoseconds == .min)
    let step = Int128(firings[1].scheduled.nanoseconds) - Int128(Int64.min)
    #expect(step == (Int128(firings[0].missed) + 1) * 1_000_000)
  }

  @Test("a timer added by hand fires after its delay, never before")
  func delay() throws {
    let (early, late) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let start = MonotonicInstant.now
      let fired = Shared<MonotonicInstant?>(nil)
      try? loop.add(ThreadTimer(after: .milliseconds(30)) { _ in fired.set(.now) })
      let reason = loop.run()
      let delay = start.duration(to: fired.value!)
      return (delay < .milliseconds(30), reason)
    }
    #expect(!early)
    #expect(late == .finished)
  }

  @Test("timers fire by their moment, those of one moment in the order in which they were added")
  func order() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[Int]>([])
      let base = MonotonicInstant.now
      for (number, delay) in [3, 1, 2, 1, 3, 1].enumerated() {
        try? loop.add(
          ThreadTimer(at: base.advanced(by: .milliseconds(delay))) { _ in
            log.append(number)
          })
      }
      loop.run()
      return log.value
    }
    #expect(log == [1, 3, 5, 2, 0, 4])
  }

  @Test("a repeating timer keeps to its grid though its closure takes half the time")
  func noDrift() throws {
    let scheduled = try onOwnThread {
      let loop = ThreadRunLoop.current
      let seen = Shared<[ThreadTimer.Firing]>([])
      let first = MonotonicInstant.now.advanced(by: .milliseconds(4))
      try? loop.add(
        ThreadTimer(every: .milliseconds(4), startingAt: first) { firing in
          seen.append(firing)
          SystemThread.sleep(until: .now.advanced(by: .milliseconds(2)))
          if seen.value.count == 20 { firing.timer.cancel() }
        })
      loop.run()
      return seen.value.map { first.duration(to: $0.scheduled) }
    }
    // On the grid, each later than the one before; on an idle machine without a gap.
    for (earlier, later) in zip(scheduled, scheduled.dropFirst()) { #expect(earlier < later) }
    for moment in scheduled {
      #expect(moment.saturatedNanoseconds % 4_000_000 == 0)
    }
  }

  @Test("moments that passed during a stall are skipped, and counted")
  func missed() throws {
    let firings = try onOwnThread {
      let loop = ThreadRunLoop.current
      let firings = Shared<[ThreadTimer.Firing]>([])
      try? loop.add(
        ThreadTimer(every: .milliseconds(10)) { firing in
          firings.append(firing)
          switch firings.value.count {
          case 1: SystemThread.sleep(until: firing.scheduled.advanced(by: .milliseconds(105)))
          case 3: firing.timer.cancel()
          default: break
          }
        })
      loop.run()
      return firings.value
    }
    #expect(firings.count == 3)
    #expect(firings[0].missed + firings[1].missed >= 9)
    for (earlier, later) in zip(firings, firings.dropFirst()) {
      let skipped = Duration.milliseconds(10 * (earlier.missed + 1))
      #expect(earlier.scheduled.duration(to: later.scheduled) == skipped)
    }
  }

  @Test("an interval of zero fires once in each pass, stays on, and starves nobody")
  func zeroInterval() throws {
    let (fired, reasons, ran) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let (fired, others, ran) = (Shared(0), Shared(0), Shared(false))
      try? loop.add(ThreadTimer(every: .zero) { _ in fired.change { $0 += 1 } })
      try? loop.add(
        ThreadTimer(every: .microseconds(100)) { _ in
          others.change { $0 += 1 }
          if others.value == 5 { loop.stop() }
        })
      loop.perform { ran.set(true) }
      let reason = loop.run(for: .seconds(50))
      return (fired.value, [reason, loop.run(for: .milliseconds(5))], ran.value)
    }
    #expect(fired >= 5)
    #expect(ran)
    #expect(reasons == [.stopped, .timedOut])
  }

  @Test("timers for the past that add themselves anew do not hold up those that are due")
  func pastTimers() throws {
    let fired = try onOwnThread {
      let loop = ThreadRunLoop.current
      let chain = PastChain(loop)
      chain.add()
      let fired = Shared(false)
      try? loop.add(
        ThreadTimer(after: .milliseconds(1)) { _ in
          fired.set(true)
          chain.ended.set(true)
        })
      loop.run(for: .seconds(20))
      return fired.value
    }
    #expect(fired)
  }

  @Test("negative intervals and tolerances are refused")
  func refused() {
    #expect(throws: ThreadingError.self) { try ThreadTimer(every: .seconds(-1)) { _ in } }
    #expect(throws: ThreadingError.self) {
      try ThreadTimer(after: .seconds(1), tolerance: .nanoseconds(-1)) { _ in }
    }
  }

  @Test("delays too long for the clock never end, and do not overflow")
  func veryLongDelays() throws {
    let (fired, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let fired = Shared(0)
      let body: ThreadTimer.Body = { _ in fired.change { $0 += 1 } }
      let years = Duration.seconds(300 * 365 * 86_400)
      try? loop.add(ThreadTimer(after: .nanoseconds(Int64.max), body))
      try? loop.add(ThreadTimer(after: .seconds(Int64.max), tolerance: .seconds(Int64.max), body))
      try? loop.add(ThreadTimer(after: years, tolerance: years, body))
      try? loop.add(ThreadTimer(every: years, startingAt: .now, body))
      try? loop.add(
        ThreadTimer(every: years, startingAt: MonotonicInstant(nanoseconds: .min), body))
      let reason = loop.run(for: .milliseconds(20))
      return (fired.value, reason)
    }
    #expect(fired == 2)
    #expect(reason == .timedOut)
  }

  @Test("a second loop, and a second time on the same one, is refused")
  func secondLoop() throws {
    let timer = try ThreadTimer(after: .seconds(50)) { _ in }
    let first = try LoopThread()
    defer { first.end() }
    let second = try LoopThread()
    defer { second.end() }
    try first.loop.add(timer)
    for loop in [first.loop, second.loop] {
      #expect {
        try loop.add(timer)
      } throws: { error in
        (error as? ThreadingError)?.codeName == "EBUSY"
      }
    }
    #expect(timer.isScheduled)
  }

  @Test("a cancelled timer, and a loop whose thread has ended, are refused with their reasons")
  func refusedAdds() throws {
    let ended = try onOwnThread { ThreadRunLoop.current }
    let timer = try ThreadTimer(after: .zero) { _ in }
    #expect {
      try ended.add(timer)
    } throws: {
      ($0 as? ThreadingError)?.codeName == "ESRCH"
    }
    // The refused timer is still free for another loop.
    let thread = try LoopThread()
    defer { thread.end() }
    try thread.loop.add(timer)
    let cancelled = try ThreadTimer(after: .zero) { _ in }
    #expect(cancelled.cancel())
    #expect(cancelled.cancel() == false)
    #expect {
      try thread.loop.add(cancelled)
    } throws: {
      ($0 as? ThreadingError)?.codeName == "ECANCELED"
    }
  }

  @Test("timers that fired, were cancelled, were dropped unused or outlived their loop are freed")
  func freed() throws {
    let tokens = Shared<[WeakToken]>([])
    let held = Shared<[ThreadTimer]>([])
    func make(_ delay: Duration, hold: Bool = false) throws -> ThreadTimer {
      let token = Token()
      tokens.append(WeakToken(token))
      let timer = try ThreadTimer(after: delay) { _ in _ = token }
      if hold { held.append(timer) }
      return timer
    }
    let timers = Shared<[[ThreadTimer]]>([])
    timers.set([
      try (0..<10).map { _ in try make(.zero, hold: true) },
      try (0..<10).map { _ in try make(.seconds(50), hold: true) },
      try (0..<10).map { _ in try make(.seconds(50)) },
      try (0..<10).map { _ in try make(.zero) },
    ])
    try onOwnThread {
      let loop = ThreadRunLoop.current
      for timer in timers.value[0] + timers.value[1] + timers.value[2] { try? loop.add(timer) }
      for timer in timers.value[1] { timer.cancel() }
      timers.set([])
      loop.run(for: .milliseconds(5))
    }
    #expect(tokens.value.count == 40)
    #expect(tokens.value.allSatisfy { $0.token == nil })
    #expect(held.value.count == 20)
  }

  @Test("a repeating timer cancelled in its own closure does not fire again")
  func cancelInside() throws {
    let (fired, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let fired = Shared(0)
      try? loop.add(
        ThreadTimer(every: .microseconds(100)) { firing in
          fired.change { $0 += 1 }
          if fired.value == 3 { firing.timer.cancel() }
        })
      let reason = loop.run()
      return (fired.value, reason)
    }
    #expect(fired == 3)
    #expect(reason == .finished)
  }

  @Test("after a cancel from another thread no firing begins")
  func cancelOutside() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    for _ in 0..<300 {
      let begun = Shared(0)
      let timer = try ThreadTimer(every: .microseconds(20)) { _ in begun.change { $0 += 1 } }
      try thread.loop.add(timer)
      begun.waitUntil { $0 > 0 }
      timer.cancel()
      // The one that had begun is over when the loop has come to this block.
      try thread.loop.performAndWait {}
      let after = begun.value
      try thread.loop.performAndWait {}
      try thread.loop.performAndWait {}
      #expect(begun.value == after)
      #expect(!timer.isScheduled)
    }
  }

  @Test("adding an earlier timer from another thread wakes the loop for it")
  func earlierTimer() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    try thread.loop.add(ThreadTimer(after: .seconds(50)) { _ in })
    #expect(thread.waitUntilAsleep())
    let fired = Shared(false)
    try thread.loop.add(ThreadTimer(after: .milliseconds(1)) { _ in fired.set(true) })
    fired.waitUntil { $0 }
  }

  @Test("timers with overlapping windows share one moment")
  func tolerance() {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2_000 {
      let earliest = Int64.random(in: 1...(1 << 50), using: &random)
      let tolerance = Int64.random(in: 0...(1 << 40), using: &random)
      let moment = TimerTable.fireMoment(earliest, tolerance: tolerance)
      #expect(moment >= earliest && moment <= earliest + tolerance)
    }
    let moments = (0..<8).map { TimerTable.fireMoment(1_000_000 + $0 * 100, tolerance: 100_000) }
    #expect(Set(moments).count == 1)
    #expect(TimerTable.fireMoment(.max, tolerance: .max) == .max)
    #expect(TimerTable.fireMoment(.max - 1, tolerance: .max) >= .max - 1)
  }

  @Test(
    "adding and cancelling at random leaves the heap in order", arguments: [1, 2, 3] as [UInt64])
  func heap(seed: UInt64) throws {
    let result = try onOwnThread { () -> [Int64] in
      var random = SeededGenerator(seed: seed)
      let loop = ThreadRunLoop.current
      let fired = Shared<[Int64]>([])
      let base = MonotonicInstant(nanoseconds: 1)
      var timers: [ThreadTimer] = []
      for _ in 0..<3_000 {
        if Int.random(in: 0..<3, using: &random) == 0, !timers.isEmpty {
          timers.remove(at: Int.random(in: 0..<timers.count, using: &random)).cancel()
        } else {
          let moment = Int64.random(in: 0..<500, using: &random)
          guard
            let timer = try? ThreadTimer(
              at: base.advanced(by: .nanoseconds(moment)),
              { firing in fired.append(firing.scheduled.nanoseconds) })
          else { continue }
          try? loop.add(timer)
          timers.append(timer)
        }
      }
      let expected = timers.count
      loop.run()
      return fired.value.count == expected ? fired.value : []
    }
    #expect(result.count > 500)
    #expect(result == result.sorted())
  }
}

private final class PastChain: Sendable {
  let ended = Shared(false)
  let loop: ThreadRunLoop
  init(_ loop: ThreadRunLoop) { self.loop = loop }
  func add() {
    try? loop.add(
      ThreadTimer(at: MonotonicInstant(nanoseconds: 0)) { [self] _ in
        if !ended.value { add() }
      })
  }
}
