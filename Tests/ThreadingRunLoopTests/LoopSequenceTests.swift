import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("LoopSequence", .endsInTime)
struct LoopSequenceTests {
  @Test("lines are read in order, to the end")
  func lines() async throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let pipe = Pipe()
    let join = try inBackground {
      for number in 0..<1_000 { pipe.write("line \(number)\n") }
      pipe.closeWriter()
    }
    var lines: [String] = []
    for try await line in thread.loop.lines(of: pipe.reader) { lines.append(line.text) }
    join()
    #expect(lines == (0..<1_000).map { "line \($0)" })
  }

  @Test("a reader that does not read holds the source back: the pipe fills up, nothing is lost")
  func backPressure() async throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let pipe = Pipe()
    var iterator = thread.loop.lines(of: pipe.reader).makeAsyncIterator()
    var written = 0
    // Far more than 64 lines and a piece of 16 KiB: until the pipe takes no more.
    let line = String(repeating: "x", count: 99) + "\n"
    while written < 100_000, pipe.tryToWrite(line) { written += 1 }
    #expect(written < 100_000)
    var read = 0
    let join = try inBackground { [written] in
      for _ in 0..<1_000 { pipe.write(line) }
      pipe.closeWriter()
      _ = written
    }
    while try await iterator.next() != nil { read += 1 }
    join()
    #expect(read == written + 1_000)
  }

  @Test("leaving the iteration, and cancelling its task, takes the source off")
  func leaving() async throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let pipe = Pipe()
    pipe.write("one\ntwo\nthree\n")
    for try await line in thread.loop.lines(of: pipe.reader) where line.text == "two" { break }
    // The descriptor is free for another source.
    let loop = thread.loop
    let began = Shared(false)
    let task = Task {
      var count = 0
      pipe.write("four\n")
      for try await _ in loop.lines(of: pipe.reader) {
        count += 1
        began.set(true)
      }
      return count
    }
    #expect(await eventuallyAsync { began.value })
    task.cancel()
    #expect(try await task.value == 1)
    let other = DescriptorSource(pipe.reader, for: .readable) { _, _ in }
    try thread.loop.add(other)
    other.cancel()
  }

  @Test("what the loop refuses, and a line that is too long, ends the iteration with an error")
  func errors() async throws {
    let thread = try LoopThread()
    let pipe = Pipe()
    pipe.write("short\nmuch too long\nshort\n")
    var lines: [String] = []
    var codes: [String] = []
    do {
      for try await line in thread.loop.lines(of: pipe.reader, maximumLength: 5) {
        lines.append(line.text)
      }
    } catch { codes.append(error.codeName) }
    thread.end()
    var iterator = thread.loop.lines(of: pipe.reader).makeAsyncIterator()
    do { _ = try await iterator.next() } catch { codes.append(error.codeName) }
    #expect(try await iterator.next() == nil)
    #expect(lines == ["short"])
    #expect(codes == ["EMSGSIZE", "ESRCH"])
  }

  @Test("when the loop's thread ends, so does the iteration")
  func endOfThread() async throws {
    let thread = try LoopThread()
    let loop = thread.loop
    let task = Task {
      for try await _ in loop.ticks(every: .seconds(1_000)) {}
      return true
    }
    #expect(await eventuallyAsync { loop.nextDeadline() != nil })
    thread.end()
    #expect(try await task.value)
  }

  @Test("ticks keep to their grid; those that a slow reader missed are counted")
  func ticks() async throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let loop = thread.loop
    let start = TimerMoment.now(on: .monotonic)
    var count: Int64 = 0
    var next: Int64 = 1
    for try await tick in loop.ticks(
      every: .milliseconds(2), startingAt: start.advanced(by: .milliseconds(2)))
    {
      // Each moment of the grid comes once, as a tick or as a missed one.
      #expect(tick.moment.nanoseconds == start.nanoseconds + next * 2_000_000)
      next += 1 + Int64(tick.missed)
      count += 1
      if count == 3 {
        let passed = start.advanced(by: .milliseconds(60))
        while TimerMoment.now(on: .monotonic).nanoseconds < passed.nanoseconds {
          await Task.yield()
        }
      }
      if next > 40 { break }
    }
    #expect(count < 40)
    #expect(eventually { loop.nextDeadline() == nil })
  }

  @Test("signals and messages are read as they come; a descriptor's events too")
  func otherSources() async throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let (near, far) = try MessageSocket.pair()
    for number in 1...40 { try far.send([UInt8(number)]) }
    far.endSending()
    var numbers: [UInt8] = []
    for try await message in thread.loop.messages(of: near) { numbers.append(message.bytes[0]) }
    #expect(numbers == Array(1...40))

    let signal = OwnSignal.take()
    var signals = thread.loop.deliveries(of: signal).makeAsyncIterator()
    raiseHere(signal)
    #expect(try await signals.next() == 1)
    raiseHere(signal)
    #expect(try await signals.next() == 1)

    let pipe = Pipe()
    var events = thread.loop.events(of: pipe.reader, for: .readable).makeAsyncIterator()
    pipe.write("x")
    #expect(try await events.next() == .readable)
    pipe.closeWriter()
    #expect(try await events.next()?.contains(.hangUp) == true)
  }

  @Test("a second task that waits for the same iteration stops the program")
  func twoReaders() async {
    await #expect(processExitsWith: .failure) {
      // The compiler does not let two tasks have one iterator; this is what they would share.
      let feed = LoopFeed<Int>(limit: 1)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<2 { group.addTask { _ = await feed.next(isolation: nil) } }
      }
    }
  }

  @Test("a sleep lasts until its moment, ends when its task is cancelled, and when the loop ends")
  func sleep() async throws {
    let thread = try LoopThread()
    let loop = thread.loop
    let start = MonotonicInstant.now
    try await loop.sleep(for: .milliseconds(20))
    #expect(start.duration(to: .now) >= .milliseconds(20))
    try await loop.sleep(until: .now(on: .wall).advanced(by: .milliseconds(5)))
    let sleeper = Task { try await loop.sleep(for: .seconds(1_000)) }
    #expect(await eventuallyAsync { loop.nextDeadline() != nil })
    sleeper.cancel()
    await #expect(throws: CancellationError.self) { try await sleeper.value }
    let other = Task { try await loop.sleep(for: .seconds(1_000)) }
    #expect(await eventuallyAsync { loop.nextDeadline() != nil })
    thread.end()
    await #expect(throws: ThreadingError.self) { try await other.value }
  }

  @Test(
    "read, left and cancelled at random, it neither hangs nor loses", arguments: [1, 2] as [UInt64])
  func churn(seed: UInt64) async throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let loop = thread.loop
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<4 {
        group.addTask {
          var random = SeededGenerator(seed: seed &* 31 &+ UInt64(index))
          for _ in 0..<LongTests.operations / 1_000 {
            let enough = Int.random(in: 1...5, using: &random)
            let cancels = Bool.random(using: &random)
            let task = Task {
              var count = 0
              for try await _ in loop.ticks(every: .microseconds(20)) {
                count += 1
                if count == enough { break }
              }
              return count
            }
            if cancels { task.cancel() }
            let count = (try? await task.value) ?? -1
            #expect(cancels ? count >= 0 && count <= enough : count == enough)
          }
        }
      }
    }
    #expect(eventually { loop.nextDeadline() == nil })
  }
}

extension Pipe {
  /// Writes a text, waiting for room.
  func write(_ text: String) {
    while !tryToWrite(text) { SystemThread.yield() }
  }

  /// Writes a short text, if there is room for it.
  func tryToWrite(_ text: String) -> Bool {
    unsafe Glibc.write(writer, text, text.utf8.count) == text.utf8.count
  }
}
