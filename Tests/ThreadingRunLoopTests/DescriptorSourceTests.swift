import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

/// Closes the descriptor of a source in its handler, and has the number given to another one there.
///
/// - Returns: Whether the new one was told of what happens to it, and of nothing else.
private func reuseNumberInHandler() -> Bool {
  let loop = ThreadRunLoop.current
  let pipe = Pipe()
  let number = pipe.reader
  let seen = Shared<[DescriptorSource.Events]>([])
  let source = DescriptorSource(number, for: .readable) { source, _ in
    source.cancel()
    pipe.closeReader()
    // The lowest free number is the one just closed.
    guard socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0) == number else { return }
    let next = DescriptorSource(number, for: .writable) { source, events in
      seen.append(events)
      source.cancel()
      close(number)
    }
    try? loop.add(next, in: [ownMode])
  }
  try? loop.add(source, in: [ownMode])
  pipe.write()
  while loop.run(mode: ownMode) != .finished {}
  return seen.value == [.writable]
}

/// Closes the descriptor of a source, has its number given to another one, and ends the first source.
private func reuseNumber(_ isCancelled: Bool) {
  let loop = ThreadRunLoop.current
  let oldPipe = Pipe()
  let old = Shared<[DescriptorSource.Events]>([])
  let seen = Shared<[DescriptorSource.Events]>([])
  let oldSource = DescriptorSource(oldPipe.reader, for: .readable) { _, events in
    old.append(events)
  }
  try? loop.add(oldSource, in: [ownMode])
  oldPipe.closeReader()
  let newPipe = Pipe()
  precondition(newPipe.reader == oldPipe.reader)
  let newSource = DescriptorSource(newPipe.reader, for: .readable) { source, events in
    seen.append(events)
    _ = readByte(source.descriptor)
  }
  try? loop.add(newSource, in: [ownMode])
  // Told of the end of the old one, or cancelled before that.
  if isCancelled { oldSource.cancel() }
  newPipe.write()
  for _ in 0..<3 { loop.poll(mode: ownMode) }
  precondition(old.value == (isCancelled ? [] : [.closed]), "\(old.value)")
  precondition(seen.value == [.readable], "\(seen.value)")
  precondition(!oldSource.isScheduled && newSource.isScheduled)
}

@Suite("DescriptorSource", .endsInTime)
struct DescriptorSourceTests {
  @Test("data wakes a sleeping loop, whose handler is told what can be done")
  func readable() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let pipe = Pipe()
    let seen = Shared<[DescriptorSource.Events]>([])
    // Added from another thread to a loop that sleeps without descriptors.
    #expect(thread.waitUntilAsleep())
    try thread.loop.add(
      DescriptorSource(pipe.reader, for: .readable) { source, events in
        seen.append(events)
        _ = readByte(source.descriptor)
      })
    #expect(thread.waitUntilAsleep())
    #expect(seen.value.isEmpty)
    pipe.write()
    seen.waitUntil { $0.count == 1 }
    #expect(seen.value == [.readable])
    #expect(thread.waitUntilAsleep())
    #expect(thread.loop.perform {})
    #expect(seen.value.count == 1)
  }

  @Test("a hang-up that leaves nothing to read is reported once, and the loop sleeps on")
  func hangUp() throws {
    let (events, reason, waits) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let seen = Shared<[DescriptorSource.Events]>([])
      try? loop.add(
        DescriptorSource(pipe.reader, for: .readable) { _, events in seen.append(events) })
      pipe.closeWriter()
      let reason = loop.run(for: .milliseconds(60))
      return (seen.value, reason, loop.waitNumber)
    }
    #expect(events == [.hangUp])
    #expect(reason == .timedOut)
    #expect(waits < 20)
  }

  @Test("a source that asks for nothing is told of the hang-up, once")
  func noInterest() throws {
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pair = SocketPair()
      let seen = Shared<[DescriptorSource.Events]>([])
      try? loop.add(DescriptorSource(pair.first, for: []) { _, events in seen.append(events) })
      pair.write(to: pair.second)
      pair.closeSecond()
      let first = loop.run(mode: .default, until: .now.advanced(by: .seconds(20)))
      loop.run(for: .milliseconds(30))
      return (seen.value.count, first)
    }
    #expect(counts.0 == 1)
    #expect(counts.1 == .handledSource)
  }

  @Test("a descriptor that is closed under the loop is reported once and removed")
  func closedUnderTheLoop() throws {
    for others in [0, 40] {
      let (events, reason, scheduled) = try onOwnThread {
        let loop = ThreadRunLoop.current
        let idle = (0..<others).map { _ in Pipe() }
        let idleSources = idle.map { DescriptorSource($0.reader, for: .readable) { _, _ in } }
        for source in idleSources { try? loop.add(source) }
        let pipe = Pipe()
        let seen = Shared<[DescriptorSource.Events]>([])
        let source = DescriptorSource(pipe.reader, for: .readable) { _, events in
          seen.append(events)
          for source in idleSources { source.cancel() }
        }
        try? loop.add(source)
        loop.perform { pipe.closeReader() }
        let reason = loop.run(for: .seconds(20))
        return (seen.value, reason, source.isScheduled)
      }
      #expect(events == [.closed])
      #expect(reason == .finished)
      #expect(!scheduled)
    }
  }

  @Test("closed, but open elsewhere under another number: reported as closed, and no event goes on")
  func closedButDuplicated() throws {
    let (events, reason, waits) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let copy = dup(pipe.reader)
      defer { close(copy) }
      let seen = Shared<[DescriptorSource.Events]>([])
      let other = Pipe()
      try? loop.add(
        DescriptorSource(pipe.reader, for: .readable) { _, events in seen.append(events) })
      try? loop.add(DescriptorSource(other.reader, for: .readable) { _, _ in })
      loop.perform {
        pipe.closeReader()
        loop.perform { pipe.write() }
      }
      let reason = loop.run(for: .milliseconds(100))
      return (seen.value, reason, loop.waitNumber)
    }
    #expect(events.last == .closed)
    #expect(events.filter { $0 == .closed }.count == 1)
    #expect(reason == .timedOut)
    #expect(waits < 40)
  }

  @Test("a number that is closed and reused in the handler belongs to its new source alone")
  func reusedInHandler() async {
    await #expect(processExitsWith: .success) {
      // A forked child has one thread: nobody else takes the number.
      let status = inForkedChild {
        (0..<(LongTests.areOn ? 10_000 : 500)).allSatisfy { _ in reuseNumberInHandler() }
      }
      precondition(status == 0, "\(status)")
    }
  }

  @Test("of two that are ready together, one cancelled by the other's handler is not served")
  func cancelledInTheSameBatch() throws {
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipes = [Pipe(), Pipe()]
      let counts = Shared([0, 0])
      let sources = Shared<[DescriptorSource]>([])
      sources.set(
        (0..<2).map { index in
          DescriptorSource(pipes[index].reader, for: .readable) { _, _ in
            counts.change { $0[index] += 1 }
            for source in sources.value { source.cancel() }
          }
        })
      for index in 0..<2 {
        pipes[index].write()
        try? loop.add(sources.value[index])
      }
      loop.run()
      return counts.value
    }
    #expect(counts.reduce(0, +) == 1)
  }

  @Test("an event of a source that was cancelled does not reach the one that took its place")
  func placeTakenInTheSameBatch() throws {
    let strays = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipes = [Pipe(), Pipe()]
      let quiet = Pipe()
      let strays = Shared(0)
      let sources = Shared<[DescriptorSource]>([])
      sources.set(
        (0..<2).map { index in
          DescriptorSource(pipes[index].reader, for: .readable) { _, _ in
            // Both were ready: the other one's event is still to be served.
            for source in sources.value { source.cancel() }
            for descriptor in [quiet.reader, quiet.writer] {
              try? loop.add(
                DescriptorSource(descriptor, for: []) { _, _ in strays.change { $0 += 1 } })
            }
          }
        })
      for index in 0..<2 {
        pipes[index].write()
        try? loop.add(sources.value[index])
      }
      loop.run(for: .milliseconds(5))
      return strays.value
    }
    #expect(strays == 0)
  }

  @Test("what cannot be watched is refused with the reason, and may be added once it can")
  func refusals() throws {
    let codes = try onOwnThread { () -> [String] in
      let loop = ThreadRunLoop.current
      let file = unsafe open("/proc/self/exe", O_RDONLY)
      let pipe = Pipe()
      defer { close(file) }
      func code(_ descriptor: CInt) -> String {
        do {
          try loop.add(DescriptorSource(descriptor, for: .readable) { _, _ in })
          return "added"
        } catch {
          return error.codeName
        }
      }
      return [code(-1), code(file), code(pipe.reader), code(pipe.reader)]
    }
    #expect(codes == ["EBADF", "EPERM", "added", "EEXIST"])
  }

  @Test("a source that is on a loop already is refused as that, not for its descriptor")
  func addedTwice() throws {
    let codes = try onOwnThread {
      let pipe = Pipe()
      let loop = ThreadRunLoop.current
      let source = DescriptorSource(pipe.reader, for: .readable) { _, _ in }
      let another = DescriptorSource(pipe.reader, for: .readable) { _, _ in }
      try? loop.add(source)
      var codes: [String] = []
      for refused in [source, another] {
        do throws(ThreadingError) { try loop.add(refused) } catch { codes.append(error.codeName) }
      }
      source.cancel()
      do throws(ThreadingError) { try loop.add(source) } catch { codes.append(error.codeName) }
      return codes
    }
    #expect(codes == ["EBUSY", "EEXIST", "EBUSY"])
  }

  @Test("a source of another mode does not keep the loop awake, and is served in its own mode")
  func otherMode() throws {
    let (counts, waits) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let special = ThreadRunLoop.Mode("special")
      let pipe = Pipe()
      let count = Shared(0)
      try? loop.add(
        DescriptorSource(pipe.reader, for: .readable) { source, _ in
          count.change { $0 += 1 }
          _ = readByte(source.descriptor)
        }, in: [special])
      try? loop.add(ThreadTimer(every: .milliseconds(10)) { _ in })
      pipe.write()
      loop.run(for: .milliseconds(60))
      let waits = loop.waitNumber
      let before = count.value
      let reason = loop.run(mode: special, until: .now.advanced(by: .seconds(20)))
      return ([before, count.value, reason == .handledSource ? 1 : 0], waits)
    }
    #expect(counts == [0, 1, 1])
    #expect(waits < 30)
  }

  @Test("closed, and its number given out anew, while it is not served: told of when it is")
  func closedInOtherMode() async {
    await #expect(processExitsWith: .success) {
      // Nobody else takes the number there.
      try checkClosedInOtherMode()
    }
  }

  @Test("a paused source is not served; what became ready meanwhile is, once it goes on")
  func pause() throws {
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let count = Shared(0)
      let source = DescriptorSource(pipe.reader, for: .readable) { source, _ in
        count.change { $0 += 1 }
        _ = readByte(source.descriptor)
      }
      try? loop.add(source)
      source.pause()
      pipe.write()
      let reason = loop.run(for: .milliseconds(10))
      let before = count.value
      source.resume()
      loop.run(mode: .default)
      return ([before, count.value], reason)
    }
    #expect(counts.0 == [0, 1])
    #expect(counts.1 == .timedOut)
  }

  @Test("edge-triggered, a readiness that lasts is reported once")
  func edge() throws {
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipe = Pipe()
      let counts = Shared([0, 0])
      let second = Pipe()
      try? loop.add(
        DescriptorSource(pipe.reader, for: .readable, trigger: .edge) { _, _ in
          counts.change { $0[0] += 1 }
        })
      try? loop.add(
        DescriptorSource(second.reader, for: .readable, trigger: .level) { source, _ in
          counts.change { $0[1] += 1 }
          if counts.value[1] == 5 { source.cancel() }
        })
      pipe.write()
      second.write()
      loop.run(for: .milliseconds(30))
      return counts.value
    }
    #expect(counts == [1, 5])
  }

  @Test("cancelling the last source from another thread ends a run that sleeps for it")
  func cancelEndsRun() throws {
    let pipe = Pipe()
    let source = DescriptorSource(pipe.reader, for: .readable) { _, _ in }
    let made = Shared<ThreadRunLoop?>(nil)
    let reason = Shared<ThreadRunLoop.ExitReason?>(nil)
    let join = try inBackground {
      let loop = ThreadRunLoop.current
      try? loop.add(source)
      made.set(loop)
      reason.set(loop.run())
    }
    let loop = made.wait { $0 }
    #expect(eventually { loop.isAsleep })
    #expect(source.cancel())
    join()
    #expect(reason.value == .finished)
    #expect(!source.cancel())
  }

  @Test("handlers are released when the source is cancelled, and when the loop's thread ends")
  func released() throws {
    let pipe = Pipe()
    let held = Shared<[DescriptorSource]>([])
    let tokens = try onOwnThread {
      let loop = ThreadRunLoop.current
      return [true, false].map { cancelled in
        let token = Token()
        let descriptor = cancelled ? pipe.reader : pipe.writer
        let source = DescriptorSource(descriptor, for: .readable) { _, _ in _ = token }
        held.append(source)
        try? loop.add(source)
        if cancelled { source.cancel() }
        return WeakToken(token)
      }
    }
    #expect(tokens.allSatisfy { $0.token == nil })
    #expect(held.value.allSatisfy { !$0.isScheduled })
  }

  @Test("out of descriptors, loops are made and run, and adding a source says what has run out")
  func outOfDescriptors() async {
    await #expect(processExitsWith: .success) {
      let pipe = Pipe()
      let existing = try LoopThread()
      try existing.loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in })
      // No number is free from here on.
      var limit = rlimit(rlim_cur: 0, rlim_max: 0)
      _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let results = Shared<[String]>([])
      try concurrently(10) { _ in
        let loop = ThreadRunLoop.current
        loop.perform { results.append("ran") }
        do throws(ThreadingError) {
          try loop.add(DescriptorSource(pipe.writer, for: .writable) { _, _ in })
        } catch {
          results.append(error.codeName)
        }
        results.append("\(loop.run())")
      }
      let counts = ["ran", "EMFILE", "finished"].map { word in
        results.value.filter { $0 == word }.count
      }
      precondition(counts == [10, 10, 10], "\(counts)")
      let ran = Shared(false)
      existing.loop.perform { ran.set(true) }
      ran.waitUntil { $0 }
      exit(0)
    }
  }

  @Test(
    "a source whose number was closed and given out anew ends without harm to the new one",
    arguments: [false, true])
  func reusedNumber(isCancelled: Bool) async {
    await #expect(processExitsWith: .success) { [isCancelled] in
      // A forked child has one thread: nobody else takes the number.
      let status = inForkedChild {
        reuseNumber(isCancelled)
        return true
      }
      precondition(status == 0, "\(status)")
    }
  }

  @Test("a source that a nested run has served is not served again for the outer run's report")
  func nestedRun() throws {
    let (calls, empty) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let pipes = [Pipe(), Pipe(), Pipe()]
      let calls = Shared(0)
      let empty = Shared(0)
      for pipe in pipes {
        try? loop.add(
          DescriptorSource(pipe.reader, for: .readable) { source, _ in
            let isFirst = calls.change { calls in
              calls += 1
              return calls == 1
            }
            if readByte(source.descriptor) == nil { empty.change { $0 += 1 } }
            if isFirst { ThreadRunLoop.current.poll() }
          })
        pipe.write()
      }
      loop.poll()
      return (calls.value, empty.value)
    }
    #expect(calls == 3)
    #expect(empty == 0)
  }

  @Test("sources added, fired and cancelled by racing threads", arguments: [3, 4] as [UInt64])
  func churn(seed: UInt64) throws {
    let thread = try LoopThread()
    let late = Shared(0)
    try concurrently(3) { index in
      var random = SeededGenerator(seed: seed &* 31 &+ UInt64(index))
      for _ in 0..<150 {
        let pipe = Pipe()
        let isCancelled = Shared(false)
        let source = DescriptorSource(pipe.reader, for: .readable) { source, _ in
          if isCancelled.value { late.change { $0 += 1 } }
          _ = readByte(source.descriptor)
        }
        do { try thread.loop.add(source) } catch { continue }
        if Bool.random(using: &random) { pipe.write() }
        if Bool.random(using: &random) { source.pause() }
        if Bool.random(using: &random) { source.resume() }
        if Bool.random(using: &random) { SystemThread.yield() }
        source.cancel()
        // A handler that had begun is over when the loop comes to this.
        try? thread.loop.performAndWait {}
        isCancelled.set(true)
      }
    }
    thread.end()
    #expect(late.value == 0)
  }
}

private func checkClosedInOtherMode() throws {
  for isPaused in [false, true] {
    let seen = try onOwnThread {
      let loop = ThreadRunLoop.current
      let mode = ThreadRunLoop.Mode("of the closed one")
      let (pipe, other) = (Pipe(), Pipe())
      let seen = Shared<[DescriptorSource.Events]>([])
      let source = DescriptorSource(pipe.reader, for: .readable) { _, events in seen.append(events)
      }
      try? loop.add(source, in: [mode, .default])
      let parked = DescriptorSource(other.reader, for: []) { _, _ in }
      try? loop.add(parked)
      if !isPaused {
        source.cancel()
        try? loop.add(
          DescriptorSource(pipe.reader, for: .readable) { _, events in seen.append(events) },
          in: [mode])
      }
      // Its number stands for the reading end of the other pipe from now on.
      loop.perform { dup2(other.reader, pipe.reader) }
      try? loop.add(
        RunLoopObserver(for: .afterWaiting) { _, _ in if isPaused { source.pause() } })
      loop.run(for: .milliseconds(50))
      other.write()
      source.resume()
      loop.poll(mode: mode)
      loop.poll(mode: mode)
      return seen.value
    }
    precondition(seen == [.closed], "\(isPaused): \(seen)")
  }
}
