import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("RunLoopWatchdog", .endsInTime)
struct RunLoopWatchdogTests {
  @Test("a stuck handler of each kind is named while it is stuck, and how long it has been")
  func kinds() throws {
    let thread = try LoopThread()
    let stalls = Shared<[RunLoopWatchdog.Stall]>([])
    let watchdog = try RunLoopWatchdog(limit: .milliseconds(5)) { stalls.append($0) }
    watchdog.watch(thread.loop)
    let pipe = Pipe()
    let expected: [(RunLoopWatchdog.Activity, (@escaping @Sendable () -> Void) throws -> Void)] = [
      (.block, { stuck in thread.loop.perform { stuck() } }),
      (.idleBlock, { stuck in thread.loop.performWhenIdle { stuck() } }),
      (.timer, { stuck in try thread.loop.add(ThreadTimer(after: .zero) { _ in stuck() }) }),
      (
        .observer,
        { stuck in
          try thread.loop.add(
            RunLoopObserver(for: .beforeSources, repeats: false) { _, _ in stuck() })
          thread.loop.wakeUp()
        }
      ),
      (
        .signalledSource,
        { stuck in
          let source = CustomInputSource { source in
            source.cancel()
            stuck()
          }
          try thread.loop.add(source)
          source.signal()
        }
      ),
      (
        .descriptor(pipe.reader),
        { stuck in
          try thread.loop.add(
            DescriptorSource(pipe.reader, for: .readable) { source, _ in
              source.cancel()
              stuck()
            })
          pipe.write()
        }
      ),
    ]
    for (activity, start) in expected {
      let mayGoOn = Shared(false)
      try start { mayGoOn.waitUntil { $0 } }
      // Reported while it lasts, and again when it has lasted twice as long.
      stalls.waitUntil { stalls in stalls.filter { $0.activity == activity }.count >= 2 }
      mayGoOn.set(true)
    }
    for stall in stalls.value {
      #expect(stall.loop === thread.loop)
      #expect(stall.duration > .milliseconds(5))
    }
    thread.end()
  }

  @Test("which of several timers, sources and observers holds the loop up is told by its label")
  func labels() throws {
    let thread = try LoopThread()
    let stalls = Shared<[RunLoopWatchdog.Stall]>([])
    let watchdog = try RunLoopWatchdog(limit: .milliseconds(5)) { stalls.append($0) }
    watchdog.watch(thread.loop)
    let pipe = Pipe()
    func holdUp(_ label: String?, _ start: (@escaping @Sendable () -> Void) throws -> Void) throws {
      let mayGoOn = Shared(false)
      let before = stalls.value.count
      try start { mayGoOn.waitUntil { $0 } }
      // Others may have been reported as well, if the machine was busy.
      stalls.waitUntil { $0.dropFirst(before).contains { $0.label == label } }
      mayGoOn.set(true)
      // The next one is not to be taken for this one, which may be reported once more.
      try thread.loop.performAndWait {}
    }
    for label in ["redraw", "save", nil] {
      try holdUp(label) { stuck in
        let timer = try ThreadTimer(after: .zero) { _ in stuck() }
        timer.label = label
        #expect(timer.label == label)
        try thread.loop.add(timer)
      }
    }
    try holdUp("commands") { stuck in
      let source = CustomInputSource { source in
        source.cancel()
        stuck()
      }
      source.label = "commands"
      try thread.loop.add(source)
      source.signal()
    }
    try holdUp("letters") { stuck in
      let mailbox = Mailbox<Int> { _ in stuck() }
      mailbox.label = "letters"
      try thread.loop.add(mailbox)
      mailbox.send(1)
    }
    try holdUp("socket") { stuck in
      let source = DescriptorSource(pipe.reader, for: .readable) { source, _ in
        source.cancel()
        stuck()
      }
      source.label = "socket"
      try thread.loop.add(source)
      pipe.write()
    }
    try holdUp("watcher") { stuck in
      let observer = RunLoopObserver(for: .beforeSources, repeats: false) { _, _ in stuck() }
      observer.label = "watcher"
      try thread.loop.add(observer)
      thread.loop.wakeUp()
    }
    thread.end()
  }

  @Test("a call inside a nested run is named, and after it the outer one again")
  func nested() throws {
    let thread = try LoopThread()
    let stalls = Shared<[RunLoopWatchdog.Stall]>([])
    let watchdog = try RunLoopWatchdog(limit: .milliseconds(2)) { stalls.append($0) }
    watchdog.watch(thread.loop)
    let stage = Shared(0)
    thread.loop.perform {
      try? thread.loop.add(
        ThreadTimer(after: .zero) { _ in
          stage.waitUntil { $0 >= 1 }
          thread.loop.stop()
        })
      thread.loop.run(until: ExitFlag())
      stage.waitUntil { $0 >= 2 }
    }
    stalls.waitUntil { $0.last?.activity == .timer }
    stage.set(1)
    stalls.waitUntil { $0.last?.activity == .block }
    stage.set(2)
    thread.end()
  }

  @Test("a loop that sleeps, and one that is watched no longer, are not reported")
  func quiet() throws {
    let idle = try LoopThread()
    let busy = try LoopThread()
    let stalls = Shared<[ThreadRunLoop]>([])
    let watchdog = try RunLoopWatchdog(limit: .milliseconds(1)) { stalls.append($0.loop) }
    watchdog.watch(idle.loop)
    watchdog.watch(busy.loop)
    let other = try LoopThread()
    watchdog.watch(other.loop)
    watchdog.unwatch(other.loop)
    let mayGoOn = Shared(false)
    for thread in [busy, other] { thread.loop.perform { mayGoOn.waitUntil { $0 } } }
    stalls.waitUntil { $0.count >= 3 }
    mayGoOn.set(true)
    #expect(stalls.value.allSatisfy { $0 === busy.loop })
    for thread in [idle, busy, other] { thread.end() }
  }

  @Test("a limit below a millisecond is refused; a watchdog that is let go of ends its thread")
  func limits() throws {
    #expect(throws: ThreadingError.self) { try RunLoopWatchdog(limit: .zero) { _ in } }
    let token = Token()
    let watched = WeakToken(token)
    try makeAndDrop(token)
    _ = consume token
    #expect(eventually { watched.token == nil })
  }

  private func makeAndDrop(_ token: Token) throws {
    let watchdog = try RunLoopWatchdog(limit: .seconds(1)) { _ in _ = token }
    watchdog.watch(.main)
  }
}
