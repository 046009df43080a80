import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("RunLoopObserver", .endsInTime)
struct RunLoopObserverTests {
  @Test("an idle block that adds itself anew holds up neither timers nor the end of the run")
  func idleForEver() throws {
    let (idle, timers, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let idle = Shared(0)
      let timers = Shared(0)
      @Sendable func again() {
        // Bounded, so that the test ends if the rule is broken.
        if idle.change({
          $0 += 1; return $0
        }) < 100_000 {
          loop.performWhenIdle { again() }
        }
      }
      loop.performWhenIdle { again() }
      try? loop.add(
        ThreadTimer(after: .zero) { _ in
          timers.change { $0 += 1 }
          loop.stop()
        })
      let reason = loop.run()
      return (idle.value, timers.value, reason)
    }
    #expect(idle < 100_000)
    #expect(timers == 1)
    #expect(reason == .stopped)
  }

  @Test("the steps of the passes come in the order of the table")
  func order() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      try? loop.add(RunLoopObserver(for: .all) { _, activity in log.append(name(activity)) })
      let pipe = Pipe()
      try? loop.add(
        DescriptorSource(pipe.reader, for: .readable) { source, _ in
          log.append("descriptor")
          source.cancel()
          loop.perform { log.append("block of the descriptor") }
        })
      let custom = CustomInputSource { _ in log.append("custom source") }
      try? loop.add(custom)
      custom.signal()
      loop.perform { log.append("block") }
      try? loop.add(
        ThreadTimer(after: .milliseconds(5)) { _ in
          log.append("timer")
          custom.cancel()
          pipe.write()
        })
      loop.performWhenIdle { log.append("idle block") }
      loop.run()
      return log.value
    }
    #expect(
      log == [
        "entry",
        "before timers", "before sources", "block", "custom source", "idle block",
        "before timers", "before sources", "before waiting", "after waiting", "timer",
        "before timers", "before sources", "before waiting", "after waiting", "descriptor",
        "block of the descriptor",
        "exit",
      ])
  }

  @Test("an observer of waiting may take away what is waited for, or give the loop something to do")
  func beforeWaitingChanges() throws {
    for usesPoller in [false, true] {
      let pipe = Pipe()
      let reasons = try onOwnThread {
        let loop = ThreadRunLoop.current
        let far = MonotonicInstant.now.advanced(by: .seconds(100))
        let source = DescriptorSource(pipe.reader, for: .readable) { _, _ in }
        let timer = try? ThreadTimer(after: .seconds(1_000)) { _ in }
        if let timer { try? loop.add(timer) }
        if usesPoller { try? loop.add(source) }
        let isFirst = Shared(true)
        try? loop.add(
          RunLoopObserver(for: .beforeWaiting) { _, _ in
            let loop = ThreadRunLoop.current
            if isFirst.value {
              isFirst.set(false)
              loop.performWhenIdle { ThreadRunLoop.current.stop() }
            } else {
              timer?.cancel()
              source.cancel()
            }
          })
        return [loop.run(until: far), loop.run(until: far)]
      }
      #expect(reasons == [.stopped, .finished])
    }
  }

  @Test("only a loop that would wait tells of waiting: whatever there is to do first")
  func waitingIsTold() throws {
    let pipe = Pipe()
    for usesPoller in [false, true] {
      /// What is told of in a run, beside the points that come in every pass.
      func told(
        _ prepare: @escaping @Sendable (ThreadRunLoop, Shared<[String]>) -> Void,
        _ run: @escaping @Sendable (ThreadRunLoop) -> Void
      ) throws -> [String] {
        try onOwnThread {
          let loop = ThreadRunLoop.current
          let log = Shared<[String]>([])
          try? loop.add(
            RunLoopObserver(for: [.beforeWaiting, .afterWaiting]) { _, activity in
              log.append(name(activity))
              // The only end of a run that has all the time.
              if activity == .beforeWaiting { loop.stop() }
            })
          if usesPoller {
            try? loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in })
          }
          prepare(loop, log)
          run(loop)
          return log.value
        }
      }
      let far = MonotonicInstant.now.advanced(by: .seconds(1_000))
      let add: @Sendable (ThreadRunLoop, Shared<[String]>) -> Void = { loop, _ in
        try? loop.add(ThreadTimer(at: far) { _ in })
      }
      // Something to wait for, but no time.
      #expect(try told(add) { $0.poll() } == [])
      #expect(try told(add) { $0.run(until: .now) } == [])
      // Something to wait for, and time.
      #expect(try told(add) { $0.run() } == ["before waiting", "after waiting"])
      // A timer that is due, by whatever clock: at once and in each pass.
      for clock in TimerClock.allCases {
        #expect(
          try told { loop, log in
            try? loop.add(
              ThreadTimer(every: .zero, startingAt: .now(on: clock)) { firing in
                log.append("timer")
                if log.value.count == 3 { loop.stop() }
              })
          } _: {
            $0.run()
          } == ["timer", "timer", "timer"])
      }
      // A stop that came before, a cancelled run.
      #expect(
        try told { loop, _ in
          add(loop, Shared([]))
          loop.stop()
        } _: {
          $0.run()
        } == [])
      // A block that was posted before, and ends the run.
      #expect(
        try told { loop, log in
          add(loop, log)
          loop.perform { log.append("block") }
        } _: {
          $0.run(mode: .default)
        } == ["block"])
      // A block that is there, and then nothing.
      #expect(
        try told { loop, log in
          add(loop, log)
          loop.perform { log.append("block") }
        } _: {
          $0.run()
        } == ["block", "before waiting", "after waiting"])
    }
    // Nothing to wait for.
    #expect(
      try onOwnThread { () -> Int in
        let count = Shared(0)
        try? ThreadRunLoop.current.add(
          RunLoopObserver(for: [.beforeWaiting, .afterWaiting]) { _, _ in count.change { $0 += 1 } }
        )
        ThreadRunLoop.current.run()
        return count.value
      } == 0)
  }

  @Test("observers of one point are told by order, then as added; one that is told once, once")
  func severalObservers() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[Int]>([])
      for (number, order) in [2, 0, 1, 0].enumerated() {
        try? loop.add(
          RunLoopObserver(for: .entry, repeats: number != 2, order: order) { _, _ in
            log.append(number)
          })
      }
      loop.run()
      loop.run()
      return log.value
    }
    #expect(log == [1, 3, 2, 0, 1, 3, 0])
  }

  @Test("one cancelled by an earlier one at the same point is not told; handlers are released")
  func cancelled() throws {
    let (log, token) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      let token = Token()
      let second = RunLoopObserver(for: .entry, order: 1) { _, _ in
        _ = token
        log.append("second")
      }
      try? loop.add(RunLoopObserver(for: .entry) { _, _ in second.cancel() })
      try? loop.add(second)
      loop.run()
      #expect(!second.cancel())
      return (log.value, WeakToken(token))
    }
    #expect(log.isEmpty)
    #expect(token.token == nil)
  }

  @Test("what an observer does before the loop would sleep keeps it awake")
  func keepsAwake() throws {
    let pipe = Pipe()
    for usesPoller in [false, true] {
      for action in 0..<4 {
        // A loop that slept all the same would see what it missed at its deadline.
        let isInTime = try onOwnThread { () -> Bool in
          let start = MonotonicInstant.now
          let loop = ThreadRunLoop.current
          if usesPoller {
            try? loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in })
          }
          let source = CustomInputSource { _ in loop.stop() }
          try? loop.add(source)
          let times = Shared(0)
          try? loop.add(
            RunLoopObserver(for: .beforeWaiting) { _, _ in
              times.change { $0 += 1 }
              switch action {
              case 0: loop.perform { loop.stop() }
              case 1: source.signal()
              case 2: try? loop.add(ThreadTimer(after: .zero) { _ in loop.stop() })
              // The loop must look around again; the second time it is told to stop.
              default: times.value == 1 ? loop.wakeUp() : loop.stop()
              }
            })
          return loop.run(for: .seconds(40)) == .stopped && start.duration(to: .now) < .seconds(30)
        }
        #expect(isInTime)
      }
    }
  }

  @Test("observers are told in their modes, and do not keep a run going")
  func modes() throws {
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let special = ThreadRunLoop.Mode("special")
      let count = Shared(0)
      try? loop.add(
        RunLoopObserver(for: .entry) { _, _ in count.change { $0 += 1 } }, in: [special])
      #expect(loop.run() == .finished)
      let first = count.value
      #expect(loop.run(mode: special) == .finished)
      return [first, count.value]
    }
    #expect(counts == [0, 1])
  }

  @Test("idle blocks run oldest first when nothing else is to do, one for each key")
  func idle() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let log = Shared<[String]>([])
      for number in 1...3 {
        loop.performWhenIdle(key: "same") { log.append("same \(number)") }
        loop.performWhenIdle { log.append("other \(number)") }
        loop.perform { log.append("block \(number)") }
      }
      log.append("\(loop.run())")
      return log.value
    }
    #expect(
      log == [
        "block 1", "block 2", "block 3", "same 3", "other 1", "other 2", "other 3", "finished",
      ])
  }

  @Test("idle blocks wait while timers are due, descriptors are ready or blocks are posted")
  func notIdle() throws {
    let log = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let log = Shared<[String]>([])
      @Sendable func note(_ what: String, _ isLast: () -> Void) {
        log.append(what)
        if log.value.count(where: { $0 == what }) == 3 { isLast() }
      }
      loop.performWhenIdle { log.append("idle") }
      try? loop.add(ThreadTimer(every: .zero) { firing in note("timer") { firing.timer.cancel() } })
      pipe.write()
      try? loop.add(
        DescriptorSource(pipe.reader, for: .readable) { source, _ in
          note("descriptor") { source.cancel() }
        })
      loop.run()
      return log.value
    }
    #expect(log.last == "idle")
    #expect(log.count == 7)
  }

  @Test("an idle block from another thread wakes a sleeping loop, and is refused by an ended one")
  func idleWakes() throws {
    let thread = try LoopThread()
    #expect(thread.waitUntilAsleep())
    let ran = Shared(false)
    #expect(thread.loop.performWhenIdle { ran.set(true) })
    ran.waitUntil { $0 }
    thread.end()
    #expect(thread.loop.performWhenIdle {} == false)
  }
}

private func name(_ activity: RunLoopObserver.Activity) -> String {
  switch activity {
  case .entry: "entry"
  case .beforeTimers: "before timers"
  case .beforeSources: "before sources"
  case .beforeWaiting: "before waiting"
  case .afterWaiting: "after waiting"
  case .exit: "exit"
  default: "several at once"
  }
}
