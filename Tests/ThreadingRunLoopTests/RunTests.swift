import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Running a loop", .endsInTime)
struct RunTests {
  @Test("with nothing to wait for every run returns at once")
  func nothingToWaitFor() throws {
    let (reasons, time) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let start = MonotonicInstant.now
      let reasons = [
        loop.run(), loop.run(for: .seconds(30)), loop.run(mode: .default), loop.poll(),
        loop.run(mode: ThreadRunLoop.Mode("unknown"), until: .distantFuture),
      ]
      return (reasons, start.duration(to: .now))
    }
    #expect(reasons == [.finished, .finished, .finished, .finished, .finished])
    #expect(time < .seconds(5))
  }

  @Test("a thread keeps its loop, and each has another")
  func current() throws {
    let loop = try onOwnThread { [ThreadRunLoop.current, .current] }
    #expect(loop[0] === loop[1])
    let other = try onOwnThread { ThreadRunLoop.current }
    #expect(other !== loop[0])
    #expect(!loop[0].isCurrent)
  }

  @Test("a loop is gone with its thread")
  func freed() throws {
    let isGone = try onOwnThread { WeakLoop(.current) }
    #expect(isGone.loop == nil)
  }

  @Test("a stop from another thread ends a run that sleeps, with and without a deadline")
  func stopSleeper() throws {
    for deadline in [MonotonicInstant.distantFuture, .now.advanced(by: .seconds(40))] {
      let made = Shared<ThreadRunLoop?>(nil)
      let reason = Shared<ThreadRunLoop.ExitReason?>(nil)
      let join = try inBackground {
        let loop = ThreadRunLoop.current
        try? loop.add(ThreadTimer(after: .seconds(50)) { _ in })
        made.set(loop)
        reason.set(loop.run(until: deadline))
      }
      let loop = made.wait { $0 }
      #expect(eventually { loop.isAsleep })
      loop.stop()
      join()
      #expect(reason.value == .stopped)
    }
  }

  @Test("a stop before a run ends that run, which first serves what was posted; it lasts for one")
  func stopBeforeRun() throws {
    let (reasons, ran) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let ran = Shared(0)
      loop.perform { ran.change { $0 += 1 } }
      loop.stop()
      loop.stop()
      try? loop.add(ThreadTimer(after: .milliseconds(1)) { _ in ran.change { $0 += 10 } })
      let first = loop.run()
      let after = ran.value
      return ([first, loop.run()], [after, ran.value])
    }
    #expect(reasons == [.stopped, .finished])
    #expect(ran == [1, 11])
  }

  @Test("what a thread posted before it stopped the loop is run, however late in a pass that was")
  func postedBeforeStop() throws {
    let results = try onOwnThread {
      let loop = ThreadRunLoop.current
      let flag = ExitFlag()
      return [true, false].map { stops in
        let ran = Shared(false)
        // The timer's block runs in the last step of the pass.
        try? loop.add(
          ThreadTimer(after: .zero) { _ in
            loop.perform {
              loop.perform { ran.set(true) }
              stops ? loop.stop() : flag.set()
            }
          })
        loop.run(until: flag)
        return ran.value
      }
    }
    #expect(results == [true, true])
  }

  @Test("a stop ends the innermost run; a flag ends the run that names it")
  func nested() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      let flag = ExitFlag()
      loop.perform {
        loop.perform {
          loop.stop()
          flag.set()
        }
        log.append("inner \(loop.run(until: ExitFlag()))")
      }
      log.append("outer \(loop.run(until: flag))")
      return log.value
    }
    #expect(log == ["inner stopped", "outer flagSet"])
  }

  @Test("a nested run goes on with the blocks that were posted before it, in order")
  func nestedOrder() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[Int]>([])
      loop.perform {
        log.append(1)
        loop.poll()
        log.append(4)
      }
      loop.perform { log.append(2) }
      loop.perform { log.append(3) }
      loop.run()
      return log.value
    }
    #expect(log == [1, 2, 3, 4])
  }

  @Test("a flag set from anywhere wakes every loop that runs until then")
  func flag() throws {
    let flag = ExitFlag()
    let loops = Shared<[ThreadRunLoop]>([])
    let reasons = Shared<[ThreadRunLoop.ExitReason]>([])
    let setter = try inBackground {
      loops.waitUntil { $0.count == 3 }
      _ = eventually { loops.value.allSatisfy(\.isAsleep) }
      flag.set()
    }
    try concurrently(3) { _ in
      let loop = ThreadRunLoop.current
      loops.append(loop)
      let reason = loop.run(until: flag)
      reasons.append(reason)
    }
    setter()
    #expect(flag.isSet)
    #expect(reasons.value == [.flagSet, .flagSet, .flagSet])
  }

  @Test("a run until a flag waits though there is nothing else, and its deadline ends it")
  func flagDeadline() throws {
    let (reason, time) = try onOwnThread {
      let start = MonotonicInstant.now
      let deadline = start.advanced(by: .milliseconds(20))
      let reason = ThreadRunLoop.current.run(until: ExitFlag(), deadline: deadline)
      return (reason, start.duration(to: .now))
    }
    #expect(reason == .timedOut)
    #expect(time >= .milliseconds(20))
  }

  @Test("a run that returns when an input was handled does so for a block, not for a timer")
  func handledSource() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      try? loop.add(
        ThreadTimer(after: .milliseconds(1)) { _ in
          log.append("timer")
        })
      try? loop.add(
        ThreadTimer(after: .milliseconds(5)) { _ in
          loop.perform { log.append("block") }
        })
      let reason = loop.run(mode: .default)
      log.append("\(reason)")
      return log.value
    }
    #expect(log == ["timer", "block", "handledSource"])
  }

  @Test("running another thread's loop stops the program")
  func foreignRun() async {
    await #expect(processExitsWith: .failure) {
      let thread = try LoopThread()
      _ = try onOwnThread { thread.loop.poll() }
    }
  }

  @Test("in its mode a run serves what was posted for it; the rest waits, in order")
  func modes() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let special = ThreadRunLoop.Mode("special")
      let log = Shared<[String]>([])
      let note: @Sendable (String) -> Void = { text in log.append(text) }
      loop.perform(in: .default) { note("default 1") }
      loop.perform(in: [special]) { note("special") }
      loop.perform(in: [.default, special]) { note("both") }
      loop.perform { note("common") }
      loop.perform(in: .default) { note("default 2") }
      note("\(loop.run(mode: special))")
      note("\(loop.run(mode: special))")
      loop.addCommonMode(special)
      note("\(loop.run(mode: special))")
      note("\(loop.run())")
      return log.value
    }
    #expect(
      log == [
        "special", "both", "handledSource", "finished", "common", "handledSource", "default 1",
        "default 2", "finished",
      ])
  }

  @Test("a timer of the common set fires in each mode of the set, also one that joins later")
  func commonTimer() throws {
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let special = ThreadRunLoop.Mode("special")
      let fired = Shared(0)
      try? loop.add(
        ThreadTimer(every: .milliseconds(1)) { _ in
          fired.change { $0 += 1 }
          loop.stop()
        })
      var counts: [Int] = []
      loop.run()
      counts.append(fired.value)
      loop.run(mode: special)
      counts.append(fired.value)
      loop.addCommonMode(special)
      loop.run(mode: special)
      counts.append(fired.value)
      return counts
    }
    #expect(counts == [1, 1, 2])
  }

  @Test("the mode of the innermost run is known")
  func currentMode() throws {
    let names = try onOwnThread {
      let loop = ThreadRunLoop.current
      let names = Shared<[String?]>([loop.currentMode?.name])
      loop.perform(in: [ThreadRunLoop.Mode("inner")]) {
        names.append(loop.currentMode?.name)
      }
      loop.perform {
        loop.run(mode: ThreadRunLoop.Mode("inner"))
        names.append(loop.currentMode?.name)
      }
      loop.run()
      return names.value
    }
    #expect(names == [nil, "inner", "default"])
  }

  @Test(
    "loops fed, stopped and ended by racing threads: each block is run or refused, none is lost",
    arguments: [1, 2] as [UInt64])
  func churn(seed: UInt64) throws {
    for round in 0..<150 {
      let made = Shared<ThreadRunLoop?>(nil)
      let ran = Shared(0)
      let accepted = Shared(0)
      let released = Shared(0)
      let owner = try inBackground {
        let loop = ThreadRunLoop.current
        made.set(loop)
        loop.run(until: ExitFlag(), deadline: .now.advanced(by: .seconds(30)))
      }
      let loop = made.wait { $0 }
      try concurrently(4) { index in
        var random = SeededGenerator(seed: seed &+ UInt64(round * 4 + index))
        for _ in 0..<Int.random(in: 1...40, using: &random) {
          let guardian = Releaser(released)
          if loop.perform({
            _ = guardian
            ran.change { $0 += 1 }
          }) {
            accepted.change { $0 += 1 }
          }
          if Int.random(in: 0..<20, using: &random) == 0 { loop.stop() }
        }
        loop.stop()
      }
      owner()
      #expect(ran.value <= accepted.value)
      #expect(released.value >= accepted.value)
      let isTaken = loop.perform {}
      #expect(!isTaken)
    }
  }
}

private final class WeakLoop: Sendable {
  weak let loop: ThreadRunLoop?
  init(_ loop: ThreadRunLoop) { self.loop = loop }
}

private final class Releaser: Sendable {
  let count: Shared<Int>
  init(_ count: Shared<Int>) { self.count = count }
  deinit { count.change { $0 += 1 } }
}
