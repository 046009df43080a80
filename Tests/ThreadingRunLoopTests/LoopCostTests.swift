import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("What a loop costs", .endsInTime)
struct LoopCostTests {
  @Test("under load a loop is woken at most once a pass, and far less often than it is posted to")
  func wakesUnderLoad() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let total = 100_000
    let ran = Shared(0)
    let start = thread.loop.counters
    try concurrently(2) { _ in
      for round in 0..<total / 2 {
        // Every 1,000th is waited for, so that the posters do not run away from the loop.
        if round % 1_000 == 999 {
          try? thread.loop.performAndWait {}
        } else {
          thread.loop.perform { ran.change { $0 += 1 } }
        }
      }
    }
    try? thread.loop.performAndWait {}
    let end = thread.loop.counters
    print(
      "\(total) posts: \(end.passes - start.passes) passes, \(end.wakes - start.wakes) wakes,",
      "\(end.sleeps - start.sleeps) sleeps")
    #expect(ran.value == total - total / 1_000)
    #expect(end.wakes - start.wakes <= end.passes - start.passes)
    // Under the sanitizer a post takes about as long as a wake.
    #expect(end.wakes - start.wakes < total / (ThreadSanitizer.isActive ? 2 : 10))
  }

  @Test(
    "a loop with nothing to do is not woken once, whatever it waits for", arguments: [false, true])
  func idle(hasDescriptors: Bool) throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let pipe = Pipe()
    try thread.loop.add(ThreadTimer(after: .seconds(3_600)) { _ in })
    if hasDescriptors {
      try thread.loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in })
      try thread.loop.add(SignalSource(OwnSignal.take()) { _, _ in })
      try thread.loop.add(ThreadTimer(after: .seconds(3_600), on: .wall) { _ in })
    }
    let id = try thread.loop.performAndWait { SystemThread.currentID }
    // Until it has looked for closed descriptors, and sleeps for good.
    #expect(
      eventually {
        let before = contextSwitches(of: id)
        SystemThread.sleep(until: .now.advanced(by: .milliseconds(50)))
        return thread.loop.isAsleep && contextSwitches(of: id) == before
      })
    let counters = thread.loop.counters
    let switches = contextSwitches(of: id)
    SystemThread.sleep(until: .now.advanced(by: .seconds(LongTests.areOn ? 10 : 1)))
    #expect(thread.loop.counters == counters)
    #expect(contextSwitches(of: id) == switches)
  }

  @Test("a timer that another thread adds, changes or cancels wakes the loop only if it has to")
  func timerWakes() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let loop = thread.loop
    func wakes(_ change: () throws -> Void) throws -> Int {
      #expect(thread.waitUntilAsleep())
      let before = loop.counters.wakes
      try change()
      let after = loop.counters.wakes
      return after - before
    }
    let first = try ThreadTimer(after: .seconds(1_000)) { _ in }
    let second = try ThreadTimer(after: .seconds(2_000)) { _ in }
    let third = try ThreadTimer(after: .seconds(500)) { _ in }
    #expect(try wakes { try loop.add(first) } == 1)
    #expect(try wakes { try loop.add(second) } == 0)
    #expect(try wakes { second.reschedule(at: .now.advanced(by: .seconds(3_000))) } == 0)
    #expect(try wakes { try loop.add(third) } == 1)
    #expect(try wakes { third.cancel() } == 0)
    #expect(try wakes { second.reschedule(at: .now.advanced(by: .seconds(10))) } == 1)
    #expect(try wakes { first.cancel() } == 0)
    // The last one: a run that waits for timers alone would be finished.
    #expect(try wakes { second.cancel() } == 1)
  }

  @Test("a run that sleeps for timers ends when another thread cancels the last of several")
  func cancelLast() throws {
    let made = Shared<ThreadRunLoop?>(nil)
    let timers = try (1...3).map { try ThreadTimer(after: .seconds($0 * 1_000)) { _ in } }
    let reason = Shared<ThreadRunLoop.ExitReason?>(nil)
    let join = try inBackground {
      let loop = ThreadRunLoop.current
      for timer in timers { try? loop.add(timer) }
      made.set(loop)
      reason.set(loop.run())
    }
    let loop = made.wait { $0 }
    #expect(eventually { loop.isAsleep })
    for timer in timers { timer.cancel() }
    join()
    #expect(reason.value == .finished)
  }

  @Test("a run ends when the last timer of its mode is cancelled, though one of another mode stays")
  func cancelLastOfMode() throws {
    let made = Shared<ThreadRunLoop?>(nil)
    let other = ThreadRunLoop.Mode("other")
    let last = try ThreadTimer(after: .seconds(1_000)) { _ in }
    let stays = try ThreadTimer(after: .seconds(1_000)) { _ in }
    let join = try inBackground {
      let loop = ThreadRunLoop.current
      try? loop.add(last, in: [.default, other])
      try? loop.add(stays, in: [other])
      made.set(loop)
      loop.run()
    }
    let loop = made.wait { $0 }
    #expect(eventually { loop.isAsleep })
    last.cancel()
    // Not back, the test would run into its time limit.
    join()
    #expect(stays.isScheduled == false)
  }

  @Test("a loop that looks out is told of posts, descriptors and timers without being woken")
  func spinning() throws {
    let thread = try LoopThread()
    let loop = thread.loop
    let pipe = Pipe()
    loop.spinLimit = .seconds(3_600)
    #expect(loop.spinLimit == .seconds(3_600))
    try loop.performAndWait {}
    let before = loop.counters
    for _ in 0..<100 { try loop.performAndWait {} }
    let fired = Shared(0)
    try loop.add(ThreadTimer(after: .milliseconds(5)) { _ in fired.change { $0 += 1 } })
    try loop.add(
      DescriptorSource(pipe.reader, for: .readable) { source, _ in
        _ = readByte(source.descriptor)
        fired.change { $0 += 1 }
      })
    fired.waitUntil { $0 == 1 }
    pipe.write()
    fired.waitUntil { $0 == 2 }
    #expect(loop.counters.wakes == before.wakes)
    #expect(loop.counters.sleeps == before.sleeps)
    // Ends it, too.
    thread.end()
    #expect(loop.counters.wakes == before.wakes)
  }

  @Test("looking out ends with its limit and with the run's deadline")
  func spinLimit() throws {
    let (reason, sleeps, took) = try onOwnThread {
      let loop = ThreadRunLoop.current
      loop.spinLimit = .milliseconds(1)
      let start = MonotonicInstant.now
      let reason = loop.run(until: ExitFlag(), deadline: .now.advanced(by: .milliseconds(20)))
      let sleeps = loop.counters.sleeps
      loop.spinLimit = .seconds(3_600)
      loop.run(until: ExitFlag(), deadline: .now.advanced(by: .milliseconds(20)))
      return (reason, [sleeps, loop.counters.sleeps], start.duration(to: .now))
    }
    #expect(reason == .timedOut)
    #expect(sleeps == [1, 1])
    #expect(took >= .milliseconds(40))
  }

  @Test("a negative limit for looking out stops the program")
  func negativeSpinLimit() async {
    await #expect(processExitsWith: .failure) {
      ThreadRunLoop.current.spinLimit = .nanoseconds(-1)
    }
  }

  @Test(
    "posts leave no memory behind, run or refused",
    .disabled(if: AllocatingSanitizer.isActive, "the sanitizer has an allocator of its own"))
  func noLeaks() async {
    // In a process of its own, since the memory that is counted is that of all its threads.
    await #expect(processExitsWith: .success) {
      try onOwnThread {
        @Sendable func rounds(_ count: Int) {
          guard let thread = try? LoopThread() else { fatalError("no thread") }
          for _ in 0..<count {
            for _ in 0..<999 { thread.loop.perform {} }
            try? thread.loop.performAndWait {}
          }
          thread.end()
          for _ in 0..<count * 100 { thread.loop.perform {} }
        }
        rounds(20)
        let before = ProcessFigures.now().residentBytes
        // Unfreed, it would be 12 MB and more.
        rounds(300)
        let growth = ProcessFigures.now().residentBytes - before
        precondition(growth < 8_000_000, "\(growth)")
      }
    }
  }

  @Test(
    "a loop takes less than 4 KiB",
    .disabled(if: AllocatingSanitizer.isActive, "the sanitizer has an allocator of its own"))
  func memory() async {
    await #expect(processExitsWith: .success) {
      let count = 100
      let stages = Shared((ready: 0, mayMake: false, made: 0, mayEnd: false))
      var joins: [() -> Void] = []
      for _ in 0..<count {
        joins.append(
          try inBackground {
            _ = ThreadHandle.current
            stages.change { $0.ready += 1 }
            stages.waitUntil { $0.mayMake }
            let loop = ThreadRunLoop.current
            loop.perform {}
            loop.run()
            stages.change { $0.made += 1 }
            stages.waitUntil { $0.mayEnd }
          })
      }
      stages.waitUntil { $0.ready == count }
      let before = allocatedBytes()
      stages.change { $0.mayMake = true }
      stages.waitUntil { $0.made == count }
      let each = (allocatedBytes() - before) / count
      print("a loop takes \(each) bytes, with the sheet of one poster")
      stages.change { $0.mayEnd = true }
      for join in joins { join() }
      precondition(each > 256 && each < 4_096, "\(each)")
      exit(0)
    }
  }
}

/// How often a thread has given up its processor, by itself or not.
private func contextSwitches(of id: UInt32) -> Int {
  guard let file = unsafe fopen("/proc/self/task/\(id)/status", "re") else { return -1 }
  defer { _ = unsafe fclose(file) }
  var buffer = [CChar](repeating: 0, count: 8_192)
  let size = unsafe fread(&buffer, 1, buffer.count - 1, file)
  let text = String(decoding: buffer[..<size].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  var sum = 0
  for line in text.split(separator: "\n") where line.contains("ctxt_switches") {
    sum += Int(line.split(separator: "\t").last ?? "") ?? 0
  }
  return sum
}

/// How much memory the allocator has handed out, by its own report.
private func allocatedBytes() -> Int {
  typealias Report = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
  guard let address = unsafe dlsym(nil, "malloc_info") else { fatalError("no malloc_info") }
  var text: UnsafeMutablePointer<CChar>?
  var size = 0
  guard let stream = unsafe open_memstream(&text, &size) else { fatalError("no memory stream") }
  _ = unsafe unsafeBitCast(address, to: Report.self)(0, stream)
  _ = unsafe fclose(stream)
  defer { unsafe free(text) }
  let report = unsafe String(cString: text!)
  // The sums of all arenas come last: what they have from the system, less what is free there.
  func last(_ element: String) -> Int {
    guard let line = report.split(separator: "\n").last(where: { $0.hasPrefix("<\(element)") }),
      let value = line.split(separator: "size=\"").last?.prefix(while: \.isNumber)
    else { return 0 }
    return Int(value) ?? 0
  }
  return last("system type=\"current\"") - last("total type=\"fast\"") - last("total type=\"rest\"")
}
