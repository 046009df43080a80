import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Changing a ThreadTimer", .endsInTime)
struct ThreadTimerChangeTests {
  @Test("a cancel that waits returns when the closure is not being called any more")
  func cancelAndWait() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    for _ in 0..<200 {
      let (begun, isInside, late) = (Shared(0), Shared(false), Shared(0))
      let isCancelled = Shared(false)
      let timer = try ThreadTimer(every: .microseconds(30)) { _ in
        if isCancelled.value { late.change { $0 += 1 } }
        isInside.set(true)
        begun.change { $0 += 1 }
        SystemThread.yield()
        isInside.set(false)
      }
      try thread.loop.add(timer)
      begun.waitUntil { $0 > 0 }
      timer.cancelAndWait()
      isCancelled.set(true)
      #expect(!isInside.value)
      try thread.loop.performAndWait {}
      #expect(late.value == 0)
    }
  }

  @Test("a cancel that waits does not wait for the closure that it is called from")
  func cancelAndWaitInside() throws {
    let fired = try onOwnThread {
      let loop = ThreadRunLoop.current
      let fired = Shared(0)
      try? loop.add(
        ThreadTimer(every: .microseconds(10)) { firing in
          fired.change { $0 += 1 }
          firing.timer.cancelAndWait()
        })
      loop.run()
      return fired.value
    }
    #expect(fired == 1)
  }

  @Test("a timer set to an earlier moment from another thread wakes its loop")
  func earlier() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let fired = Shared(false)
    let timer = try ThreadTimer(after: .seconds(50)) { _ in fired.set(true) }
    #expect(!timer.reschedule(at: .now))
    try thread.loop.add(timer)
    #expect(thread.waitUntilAsleep())
    #expect(timer.reschedule(at: .now))
    fired.waitUntil { $0 }
    // Its call is over when the loop comes to this.
    try thread.loop.performAndWait {}
    #expect(!timer.isScheduled)
    #expect(!timer.reschedule(at: .now))
  }

  @Test(
    "a timer that fires once fires again if its closure sets it anew, and is freed when it does not"
  )
  func again() throws {
    let (moments, token) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let moments = Shared<[MonotonicInstant]>([])
      let token = Token()
      let base = MonotonicInstant.now
      try? loop.add(
        ThreadTimer(at: base) { firing in
          _ = token
          moments.append(firing.scheduled)
          if moments.value.count < 4 {
            firing.timer.reschedule(at: firing.scheduled.advanced(by: .milliseconds(1)))
          }
        })
      loop.run()
      return (moments.value.map { base.duration(to: $0) }, WeakToken(token))
    }
    #expect(moments == (0..<4).map { .milliseconds($0) })
    #expect(token.token == nil)
  }

  @Test("another interval is kept to from the next firing on")
  func interval() throws {
    let (scheduled, interval) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let seen = Shared<[ThreadTimer.Firing]>([])
      let first = MonotonicInstant.now
      let timer = try? ThreadTimer(every: .seconds(40), startingAt: first) { firing in
        seen.append(firing)
        if seen.value.count == 1 {
          let next = firing.scheduled.advanced(by: .milliseconds(2))
          _ = try? firing.timer.reschedule(every: .milliseconds(3), startingAt: next)
        } else if seen.value.count == 4 {
          firing.timer.cancel()
        }
      }
      try? loop.add(timer!)
      loop.run()
      // Moments that passed on a busy machine count like those that were kept.
      var moments: [Duration] = []
      for firing in seen.value { moments.append(first.duration(to: firing.scheduled)) }
      return (moments, timer!.interval)
    }
    #expect(scheduled.count == 4)
    #expect(scheduled[1] == .milliseconds(2))
    for moment in scheduled.dropFirst() {
      #expect((moment - .milliseconds(2)).saturatedNanoseconds % 3_000_000 == 0)
    }
    #expect(interval == .milliseconds(3))
    let negative = try ThreadTimer(after: .zero) { _ in }
    #expect(throws: ThreadingError.self) { try negative.reschedule(every: .seconds(-1)) }
  }

  @Test("a paused timer does not fire, keeps the run going, and fires after the pause")
  func pause() throws {
    let (counts, reasons) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let fired = Shared(0)
      let timer = try? ThreadTimer(after: .zero) { _ in fired.change { $0 += 1 } }
      try? loop.add(timer!)
      #expect(timer!.pause())
      #expect(timer!.pause())
      var reasons = [loop.run(for: .milliseconds(5))]
      var counts = [fired.value]
      #expect(timer!.isScheduled)
      #expect(timer!.resume())
      reasons.append(loop.run())
      counts.append(fired.value)
      #expect(!timer!.pause())
      return (counts, reasons)
    }
    #expect(counts == [0, 1])
    #expect(reasons == [.timedOut, .finished])
  }

  @Test("a timer paused by its closure does not fire again; cancelled or outlived, it is freed")
  func pauseInside() throws {
    for cancels in [true, false] {
      let (fired, token) = try onOwnThread {
        let loop = ThreadRunLoop.current
        let fired = Shared(0)
        let token = Token()
        let timer = try? ThreadTimer(every: .zero) { firing in
          _ = token
          fired.change { $0 += 1 }
          firing.timer.pause()
        }
        try? loop.add(timer!)
        let reason = loop.run(for: .milliseconds(5))
        #expect(reason == .timedOut)
        if cancels {
          #expect(timer!.cancel())
          #expect(loop.run() == .finished)
        }
        return (fired.value, WeakToken(token))
      }
      #expect(fired == 1)
      #expect(token.token == nil)
    }
  }

  @Test("missed moments are made up for, or the grid begins anew, if that is asked for")
  func missedPolicies() throws {
    func firings(_ policy: ThreadTimer.MissedPolicy) throws -> [Duration] {
      try onOwnThread {
        let loop = ThreadRunLoop.current
        let seen = Shared<[ThreadTimer.Firing]>([])
        let ended = Shared<MonotonicInstant>(.now)
        let first = MonotonicInstant.now
        try? loop.add(
          ThreadTimer(every: .milliseconds(2), startingAt: first, missed: policy) { firing in
            seen.append(firing)
            if seen.value.count == 1 {
              SystemThread.sleep(until: .now.advanced(by: .milliseconds(11)))
              ended.set(.now)
            }
            if seen.value.count == 4 { firing.timer.cancel() }
          })
        loop.run()
        #expect(seen.value.allSatisfy { $0.missed == 0 })
        if policy == .delay {
          #expect(ended.value.advanced(by: .milliseconds(2)) <= seen.value[1].scheduled)
        }
        return seen.value.map { first.duration(to: $0.scheduled) }
      }
    }
    #expect(try firings(.burst) == (0..<4).map { .milliseconds(2 * $0) })
    #expect(try firings(.delay).count == 4)
  }

  @Test("a timer that is paused while it fires for the last time is over, and the run with it")
  func pausedAtTheEnd() throws {
    let reason = try onOwnThread {
      let loop = ThreadRunLoop.current
      try? loop.add(ThreadTimer(after: .zero) { firing in firing.timer.pause() })
      return loop.run(until: .now.advanced(by: .seconds(100)))
    }
    #expect(reason == .finished)
  }

  @Test("a paused timer that outlives its loop can be cancelled")
  func pausedBeyondTheEnd() throws {
    let thread = try LoopThread()
    let timer = try ThreadTimer(after: .seconds(1_000)) { _ in }
    try thread.loop.add(timer)
    #expect(timer.pause())
    thread.end()
    #expect(!timer.resume())
    #expect(!timer.cancel())
    #expect(!timer.cancelAndWait())
  }

  @Test(
    "a hundred thousand timers are added, half cancelled and fired in far less than quadratic time")
  func many() throws {
    let count = 100_000
    let (fired, time) = try onOwnThread {
      let loop = ThreadRunLoop.current
      var random = SeededGenerator(seed: 8)
      let fired = Shared(0)
      let start = MonotonicInstant.now
      let base = start
      let timers = (0..<count).map { _ in
        let moment = base.advanced(by: .microseconds(Int.random(in: 0..<1_000, using: &random)))
        // What init refuses is a negative tolerance.
        guard let timer = try? ThreadTimer(at: moment, { _ in fired.change { $0 += 1 } }) else {
          fatalError("refused")
        }
        try? loop.add(timer)
        return timer
      }
      for index in stride(from: 0, to: count, by: 2) { timers[index].cancel() }
      loop.run()
      return (fired.value, start.duration(to: .now))
    }
    #expect(fired == count / 2)
    #expect(time < .seconds(20))
  }
}
