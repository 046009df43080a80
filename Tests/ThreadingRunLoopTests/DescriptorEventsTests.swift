import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("Events of a DescriptorSource that change", .endsInTime)
struct DescriptorEventsTests {
  @Test("changed in the handler, the next pass reports what is asked for then")
  func inHandler() throws {
    let pair = SocketPair()
    let seen = try onOwnThread {
      let loop = ThreadRunLoop.current
      let seen = Shared<[DescriptorSource.Events]>([])
      try? loop.add(
        DescriptorSource(pair.first, for: .readable) { source, events in
          seen.append(events)
          if events.contains(.readable) { _ = readByte(source.descriptor) }
          source.events = events.contains(.readable) ? .writable : .readable
        })
      pair.write(to: pair.second)
      for _ in 0..<4 { loop.poll() }
      pair.write(to: pair.second)
      for _ in 0..<4 { loop.poll() }
      return seen.value
    }
    #expect(seen == [.readable, .writable, .readable, .writable])
  }

  @Test("changed by another thread, a sleeping loop is woken by what is ready then")
  func fromOutside() throws {
    let pair = SocketPair()
    let thread = try LoopThread()
    defer { thread.end() }
    let seen = Shared<[DescriptorSource.Events]>([])
    let source = DescriptorSource(pair.first, for: []) { source, events in
      seen.append(events)
      source.events = []
    }
    try thread.loop.add(source)
    for count in 1...20 {
      #expect(thread.waitUntilAsleep())
      source.events = .writable
      seen.waitUntil { $0.count == count }
    }
    #expect(thread.waitUntilAsleep())
    #expect(seen.value == Array(repeating: .writable, count: 20))
    #expect(source.events == [])
  }

  @Test("what the system adds by itself is left out of what is asked for")
  func ignored() {
    let source = DescriptorSource(0, for: [.readable, .hangUp]) { _, _ in }
    #expect(source.events == .readable)
    source.events = [.writable, .closed, .error]
    #expect(source.events == .writable)
  }

  @Test("edge-triggered, a change has a readiness that lasts reported once more")
  func edge() throws {
    let pipe = Pipe()
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let count = Shared(0)
      let source = DescriptorSource(pipe.reader, for: .readable, trigger: .edge) { _, _ in
        count.change { $0 += 1 }
      }
      try? loop.add(source)
      pipe.write()
      var counts: [Int] = []
      for events in [.readable, [], .readable] as [DescriptorSource.Events] {
        source.events = events
        for _ in 0..<3 { loop.poll() }
        counts.append(count.value)
      }
      return counts
    }
    #expect(counts == [1, 1, 2])
  }

  @Test("a hang-up that lasts is reported once more after a change, and the loop sleeps on")
  func hangUp() throws {
    let pipe = Pipe()
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let count = Shared(0)
      let source = DescriptorSource(pipe.reader, for: []) { _, events in
        count.change { $0 += events == .hangUp ? 1 : 1_000 }
      }
      try? loop.add(source)
      pipe.closeWriter()
      var counts: [Int] = []
      for _ in 0..<3 {
        for _ in 0..<5 { loop.poll() }
        counts.append(count.value)
        source.events = []
      }
      return counts
    }
    #expect(counts == [1, 2, 3])
  }

  @Test("of two that are ready together, one that asks for nothing any more is not served")
  func unasked() throws {
    let pipes = [Pipe(), Pipe()]
    let counts = try onOwnThread {
      let loop = ThreadRunLoop.current
      let count = Shared(0)
      let sources = Shared<[DescriptorSource]>([])
      for pipe in pipes {
        let source = DescriptorSource(pipe.reader, for: .readable) { source, _ in
          count.change { $0 += 1 }
          for other in sources.value where other !== source { other.events = [] }
        }
        sources.append(source)
        try? loop.add(source)
        pipe.write()
      }
      loop.poll()
      let first = count.value
      for source in sources.value { source.cancel() }
      sources.set([])
      return [first, count.value]
    }
    #expect(counts == [1, 1])
  }

  @Test("changed while it is paused or waits for a run in its mode, it is watched for that later")
  func whilePaused() throws {
    let pair = SocketPair()
    let seen = try onOwnThread {
      let loop = ThreadRunLoop.current
      let mode = ThreadRunLoop.Mode("changing events")
      let seen = Shared<[DescriptorSource.Events]>([])
      let source = DescriptorSource(pair.first, for: .readable) { _, events in seen.append(events) }
      try? loop.add(source, in: [mode])
      source.pause()
      source.events = .writable
      loop.poll(mode: mode)
      source.resume()
      loop.poll(mode: mode)
      // Ready in a mode that is none of its own: taken out of the poller.
      loop.perform {}
      loop.poll()
      source.events = .readable
      loop.poll(mode: mode)
      pair.write(to: pair.second)
      loop.poll(mode: mode)
      source.cancel()
      return seen.value
    }
    #expect(seen == [.writable, .readable])
  }

  @Test("changed while another thread adds it, it is watched for what was asked for last")
  func whileAdded() throws {
    let pair = SocketPair()
    let thread = try LoopThread()
    defer { thread.end() }
    for round in 0..<(ThreadSanitizer.isActive ? 100 : 1_000) {
      let isServed = Shared(false)
      let source = DescriptorSource(pair.first, for: []) { _, _ in isServed.set(true) }
      try concurrently(2) { index in
        if index == 0 {
          try? thread.loop.add(source)
        } else {
          for _ in 0..<round % 50 { Processors.relax() }
          source.events = .writable
        }
      }
      isServed.waitUntil { $0 }
      source.cancel()
    }
  }

  @Test("a change for a descriptor that was closed has that reported, also to a loop that sleeps")
  func closed() throws {
    let pipe = Pipe()
    let thread = try LoopThread()
    defer { thread.end() }
    let seen = Shared<[DescriptorSource.Events]>([])
    let source = DescriptorSource(pipe.reader, for: []) { _, events in seen.append(events) }
    try thread.loop.add(source)
    // Once the look for closed descriptors is over, the loop notices none by itself.
    #expect(thread.waitUntilAsleep())
    pipe.closeReader()
    source.events = .readable
    seen.waitUntil { $0.contains { $0.contains(.closed) } }
    #expect(!source.isScheduled)
  }

  @Test("a second source for a descriptor is refused by its number, and told the way out")
  func secondSource() throws {
    let pipe = Pipe()
    let text = try onOwnThread { () -> String in
      let loop = ThreadRunLoop.current
      do throws(ThreadingError) {
        try loop.add(DescriptorSource(pipe.reader, for: .readable) { _, _ in })
        try loop.add(DescriptorSource(pipe.reader, for: .writable) { _, _ in })
        return "added"
      } catch {
        return error.message
      }
    }
    #expect(
      text == "descriptor \(pipe.reader) is watched by this loop already; "
        + "one source can watch it for all events")
  }
}
