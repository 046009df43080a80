import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("SignalSource", .endsInTime)
struct SignalSourceTests {
  @Test("a signal wakes a sleeping loop, whose handler is told how many there were")
  func wakes() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let counts = Shared<[Int]>([])
    let signal = OwnSignal.take()
    try thread.loop.add(SignalSource(signal) { _, count in counts.append(count) })
    #expect(thread.waitUntilAsleep())
    kill(getpid(), signal)
    counts.waitUntil { !$0.isEmpty }
    #expect(counts.value == [1])
  }

  @Test("each of two sources counts for itself; deliveries before it was added are not lost")
  func twoSources() throws {
    let signal = OwnSignal.take()
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let counts = Shared([0, 0])
      let sources = (0..<2).compactMap { index in
        try? SignalSource(signal) { source, count in
          counts.change { $0[index] += count }
          if counts.value[index] == 3 { source.cancel() }
        }
      }
      // Raised: handled before the call returns, so none is merged with another.
      for _ in 0..<3 { raiseHere(signal) }
      for source in sources { try? loop.add(source) }
      loop.run()
      return counts.value
    }
    #expect(counts == [3, 3])
  }

  @Test("when the last source is gone, what was in force before is so again")
  func restored() async {
    // What is in force is in force for all tests of a process.
    await #expect(processExitsWith: .success) {
      let before = handlerAddress(of: SIGWINCH)
      var first: SignalSource? = try SignalSource(SIGWINCH) { _, _ in }
      let second = try SignalSource(SIGWINCH) { _, _ in }
      let during = handlerAddress(of: SIGWINCH)
      precondition(during != before)
      withExtendedLifetime(first) {}
      first = nil
      precondition(handlerAddress(of: SIGWINCH) == during)
      second.cancel()
      precondition(handlerAddress(of: SIGWINCH) == before)
    }
  }

  @Test("a signal that all threads block is known, and comes once a thread takes it")
  func blockedEverywhere() async {
    await #expect(processExitsWith: .success) {
      // Of the threads of a forked child there is one.
      let status = inForkedChild {
        let counted = Shared(0)
        guard let source = try? SignalSource(SIGUSR1, handler: { _, count in counted.set(count) })
        else { return false }
        block(SIGUSR1)
        let loop = ThreadRunLoop.current
        try? loop.add(source, in: [ownMode])
        kill(getpid(), SIGUSR1)
        guard source.isBlockedEverywhere, loop.poll(mode: ownMode) == .timedOut else {
          return false
        }
        source.unblockOnCurrentThread()
        return !source.isBlockedEverywhere && loop.poll(mode: ownMode) == .handledSource
          && counted.value == 1
      }
      precondition(status == 0, "\(status)")
    }
  }

  @Test(
    "signals that cannot be waited for are refused",
    arguments: [0, -1, 65, SIGKILL, SIGSTOP, SIGSEGV, SIGFPE, SIGBUS, SIGILL])
  func refused(signal: CInt) {
    #expect {
      try SignalSource(signal) { _, _ in }
    } throws: {
      ($0 as? ThreadingError)?.codeName == "EINVAL"
    }
  }

  @Test("Ctrl-C ends the run of a program instead of the program")
  func interrupt() async {
    await #expect(processExitsWith: .exitCode(7)) {
      let reason = try onOwnThread { () -> ThreadRunLoop.ExitReason? in
        let loop = ThreadRunLoop.current
        try? loop.add(SignalSource(SIGINT) { _, _ in loop.stop() })
        kill(getpid(), SIGINT)
        return loop.run()
      }
      exit(reason == .stopped ? 7 : 1)
    }
  }

  @Test("a storm of signals neither shortens nor stretches the wait of a loop")
  func storm() throws {
    let handled = Shared(0)
    let signal = OwnSignal.take()
    let source = try SignalSource(signal) { _, count in handled.change { $0 += count } }
    for usesPoller in [false, true] {
      let id = Shared<pthread_t?>(nil)
      let result = Shared<(ThreadRunLoop.ExitReason, Duration)?>(nil)
      let join = try inBackground {
        let loop = ThreadRunLoop.current
        let pipe = Pipe()
        if usesPoller { try? loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in }) }
        try? loop.add(ThreadTimer(after: .seconds(50)) { _ in })
        unblock(signal)
        id.set(pthread_self())
        let start = MonotonicInstant.now
        let reason = loop.run(until: start.advanced(by: .milliseconds(120)))
        result.set((reason, start.duration(to: .now)))
      }
      let target = id.wait { $0 }
      var sent = 0
      while result.value == nil, sent < 100 {
        pthread_kill(target, signal)
        sent += 1
        SystemThread.sleep(until: .now.advanced(by: .milliseconds(1)))
      }
      join()
      #expect(result.value?.0 == .timedOut)
      #expect(result.value!.1 >= .milliseconds(120))
    }
    withExtendedLifetime(source) {}
  }

  @Test("signals sent while sources come and go are counted by one that stays")
  func churn() throws {
    let thread = try LoopThread()
    let counted = Shared(0)
    let signal = OwnSignal.take()
    try thread.loop.add(SignalSource(signal) { _, count in counted.change { $0 += count } })
    let sent = 300
    try concurrently(2) { index in
      for _ in 0..<sent {
        if index == 0 {
          raiseHere(signal)
        } else if let source = try? SignalSource(signal, handler: { _, _ in }) {
          try? thread.loop.add(source)
          source.cancel()
        }
      }
    }
    counted.waitUntil { $0 == sent }
    thread.end()
    #expect(counted.value == sent)
  }
}

/// Where the handler is that is in force for a signal.
private func handlerAddress(of signal: CInt) -> UInt {
  var action = sigaction()
  _ = unsafe sigaction(signal, nil, &action)
  return unsafe UInt(bitPattern: unsafeBitCast(action.__sigaction_handler, to: Int.self))
}
