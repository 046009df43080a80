import TestSupport
import Testing
import Threading
import ThreadingPlatform

/// What an inner run in another mode leaves to the run around it, which goes on in the middle of a pass.
@Suite("A run in another mode, inside a handler", .endsInTime)
struct InnerRunTests {
  private static let other = ThreadRunLoop.Mode("other")

  @Test("a mailbox that the inner run did not serve is served again, with nothing else to do so")
  func mailbox() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let seen = Shared<[Int]>([])
    let isRunning = Shared(false)
    let gate = Shared(false)
    let mailbox = Mailbox<Int> { number in
      if number == 1 {
        // The second is there before the inner run looks.
        isRunning.set(true)
        gate.waitUntil { $0 }
        ThreadRunLoop.current.poll(mode: Self.other)
      }
      seen.append(number)
    }
    try thread.loop.add(mailbox)
    mailbox.send(1)
    isRunning.waitUntil { $0 }
    mailbox.send(2)
    gate.set(true)
    seen.waitUntil { $0 == [1, 2] }
    #expect(thread.waitUntilAsleep())
    mailbox.send(3)
    seen.waitUntil { $0 == [1, 2, 3] }
  }

  @Test("a block for the outer run that is posted during the inner one runs before the outer ends")
  func block() throws {
    let (reason, ran) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let ran = Shared<[String]>([])
      loop.perform {
        let loop = ThreadRunLoop.current
        loop.perform(in: .default) { ran.append("outer's") }
        loop.perform(in: [Self.other]) { ran.append("inner's") }
        loop.poll(mode: Self.other)
        ran.append("inner run is over")
      }
      let reason = loop.run()
      return (reason, ran.value)
    }
    #expect(ran == ["inner's", "inner run is over", "outer's"])
    #expect(reason == .finished)
  }

  @Test("a descriptor that became readable during the inner run is served after it")
  func descriptor() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let pipe = Pipe()
    let seen = Shared(0)
    try thread.loop.add(
      DescriptorSource(pipe.reader, for: .readable) { source, _ in
        _ = readByte(source.descriptor)
        seen.change { $0 += 1 }
      })
    thread.loop.perform {
      pipe.write()
      ThreadRunLoop.current.poll(mode: Self.other)
    }
    seen.waitUntil { $0 == 1 }
  }
}
