import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("RunLoopThread", .endsInTime)
struct RunLoopThreadTests {
  @Test("it runs its loop when it has been started, with its attributes in force")
  func start() throws {
    var attributes = ThreadAttributes(name: "worker")
    attributes.stackSize = 512 * 1_024
    let worker = try RunLoopThread(attributes)
    let seen = try worker.loop.performAndWait {
      (
        ThreadHandle.current.name, ThreadRunLoop.current === worker.loop,
        ThreadRunLoop.current.currentMode, try ThreadHandle.current.stackUsage().size
      )
    }
    #expect(seen.0 == "worker" && seen.1 && seen.2 == .default)
    #expect(seen.3 >= 512 * 1_024)
    #expect(worker.handle.name == "worker")
    #expect(try worker.finish() == .flagSet)
    #expect(worker.handle.state == .finished)
  }

  @Test("what is to be done first is done first, and what was posted before the end is done")
  func setUpAndEnd() throws {
    let log = Shared<[String]>([])
    let worker = try RunLoopThread { loop in
      loop.perform { log.append("posted by it") }
      log.append("set up")
    }
    log.append("started")
    for number in 1...3 { worker.loop.perform { log.append("\(number)") } }
    #expect(try worker.finish() == .flagSet)
    #expect(log.value == ["set up", "posted by it", "started", "1", "2", "3"])
    #expect(worker.loop.perform { log.append("late") } == false)
  }

  @Test("any number of threads finish it, and all get the same answer")
  func finishedByMany() throws {
    for _ in 0..<20 {
      let worker = try RunLoopThread(name: "shared")
      let reasons = Shared<[ThreadRunLoop.ExitReason]>([])
      try concurrently(4) { _ in
        if let reason = try? worker.finish() { reasons.append(reason) }
      }
      #expect(reasons.value == [.flagSet, .flagSet, .flagSet, .flagSet])
    }
  }

  @Test("let go of, on another thread or its own, it ends; what was posted before is done")
  func letGo() throws {
    for onItself in [false, true] {
      let done = Shared(0)
      var worker: RunLoopThread? = try RunLoopThread(name: "let go")
      let handle = worker!.handle
      let loop = worker!.loop
      if onItself {
        let kept = Shared(worker)
        worker = nil
        // Whoever lets go of it last is its own thread.
        let isEmpty = Shared(false)
        loop.perform {
          isEmpty.waitUntil { $0 }
          let last = kept.change { worker in
            defer { worker = nil }
            return worker
          }
          withExtendedLifetime(last) {}
        }
        loop.perform { done.change { $0 += 1 } }
        isEmpty.set(true)
      } else {
        loop.perform { done.change { $0 += 1 } }
        worker = nil
      }
      #expect(worker == nil)
      #expect(eventually { handle.state == .finished })
      #expect(done.value == 1)
      #expect(loop.hasEnded)
    }
  }

  @Test("on the thread itself it can be asked to end, not waited for")
  func onItself() throws {
    let worker = try RunLoopThread(name: "itself")
    let code = try worker.loop.performAndWait { () -> String in
      do throws(ThreadingError) {
        return "\(try worker.finish())"
      } catch {
        return error.codeName
      }
    }
    #expect(code == "EDEADLK")
    #expect(try worker.finish() == .flagSet)
  }

  @Test("a stop of the loop and a cancellation of the thread end it, too, and say so")
  func otherEnds() throws {
    let stopped = try RunLoopThread(name: "stopped")
    stopped.loop.stop()
    #expect(eventually { stopped.handle.state == .finished })
    #expect(try stopped.finish() == .stopped)
    let cancelled = try RunLoopThread(name: "cancelled")
    cancelled.handle.cancel()
    #expect(eventually { cancelled.handle.state == .finished })
    #expect(try cancelled.finish() == .cancelled)
    // Before it began to run.
    let early = try RunLoopThread { _ in ThreadHandle.current.cancel() }
    #expect(eventually { early.handle.state == .finished })
    #expect(try early.finish() == .cancelled)
  }

  @Test("attributes that cannot be had are refused, and nothing is left")
  func refused() throws {
    let token = Shared<Token?>(Token())
    let watched = WeakToken(token.value!)
    for attributes in [ThreadAttributes(isDetached: true), ThreadAttributes(stackSize: 1)] {
      let held = token.value
      #expect {
        try RunLoopThread(attributes) { _ in _ = held }
      } throws: {
        ($0 as? ThreadingError)?.codeName == "EINVAL"
      }
    }
    token.set(nil)
    #expect(watched.token == nil)
  }
}
