import Glibc
import TestSupport
import Testing
import Threading
import ThreadingPlatform

@testable import ThreadingRunLoop

@Suite("Messages between processes", .endsInTime)
struct MessageTests {
  // MARK: Sockets

  @Test("messages wake a sleeping loop, whole and in order; the end comes after the last")
  func socket() throws {
    let (near, far) = try MessageSocket.pair()
    let received = Received()
    defer { received.end() }
    try received.add(MessageSource(near, handler: received.handler))
    #expect(received.thread.waitUntilAsleep())
    let messages = (1...200).map { [UInt8](repeating: UInt8($0 % 251), count: $0 * 7) }
    for message in messages { #expect(try far.send(message, until: .distantFuture) == .sent) }
    far.endSending()
    let log = received.waitForEnd()
    #expect(log.messages.map(\.bytes) == messages)
    #expect(log.endings == ["end"])
    #expect(!received.isScheduled)
    // The other direction is open still.
    #expect(try near.send([1]) == .sent)
    #expect(try far.receive(until: .distantFuture) == .message(.init(bytes: [1], priority: 0)))
  }

  @Test("an end that is closed is told to the other, whose messages are refused then")
  func peerGone() throws {
    let (near, far) = try MessageSocket.pair()
    #expect(try far.send([7, 7]) == .sent)
    closeEnd(far)
    #expect(try near.receive() == .message(.init(bytes: [7, 7], priority: 0)))
    #expect(try near.receive() == .end)
    #expect(try near.send([1]) == .gone)
    #expect(try near.send([1], until: .distantFuture) == .gone)
  }

  @Test("what was sent before an end was closed comes, though that had not received everything")
  func closedWithUnread() throws {
    let (near, far) = try MessageSocket.pair()
    #expect(try near.send([1]) == .sent)
    for number in 2...3 as ClosedRange<UInt8> { #expect(try far.send([number]) == .sent) }
    closeEnd(far)
    for number in 2...3 as ClosedRange<UInt8> {
      #expect(try near.receive() == .message(.init(bytes: [number], priority: 0)))
    }
    #expect(try near.receive() == .end)
  }

  @Test("a full socket refuses, lets its sender wait until a moment, and for room")
  func socketBackPressure() throws {
    let (near, far) = try MessageSocket.pair()
    let message = [UInt8](repeating: 1, count: 1_000)
    var sent = 0
    while try near.send(message) == .sent { sent += 1 }
    #expect(sent > 10)
    let start = MonotonicInstant.now
    #expect(try near.send(message, until: start.advanced(by: .milliseconds(20))) == .full)
    #expect(start.duration(to: .now) >= .milliseconds(20))
    let thread = try LoopThread()
    defer { thread.end() }
    let told = Shared(0)
    try near.whenRoom(on: thread.loop) { told.change { $0 += 1 } }
    let cancelled = try near.whenRoom(on: thread.loop) { told.change { $0 += 100 } }
    #expect(cancelled.cancel())
    try thread.loop.performAndWait {}
    #expect(thread.waitUntilAsleep())
    #expect(told.value == 0)
    for _ in 0..<sent {
      guard case .message = try far.receive() else {
        Issue.record("a message is missing")
        return
      }
    }
    told.waitUntil { $0 > 0 }
    #expect(try near.send(message) == .sent)
    #expect(try far.receive() == .message(.init(bytes: message, priority: 0)))
    #expect(try far.receive() == .nothing)
    try thread.loop.performAndWait {}
    #expect(told.value == 1)
  }

  @Test("a message that is too long is told of and lost; those behind it come")
  func tooLong() throws {
    let (near, far) = try MessageSocket.pair(maximumSize: 4)
    let received = Received()
    defer { received.end() }
    try received.add(MessageSource(near, handler: received.handler))
    for message in [[1, 2, 3, 4], [1, 2, 3, 4, 5], [6]] as [[UInt8]] { try far.send(message) }
    far.endSending()
    let log = received.waitForEnd()
    #expect(log.messages.map(\.bytes) == [[1, 2, 3, 4], [6]])
    #expect(log.endings == ["EMSGSIZE", "end"])
  }

  @Test("what is no socket for messages, a size of zero and an empty message are refused")
  func refusals() throws {
    let stream = SocketPair()
    let pipe = Pipe()
    func code(_ body: () throws(ThreadingError) -> Void) -> String {
      do throws(ThreadingError) { try body() } catch { return error.codeName }
      return "none"
    }
    #expect(
      code { () throws(ThreadingError) in _ = try MessageSocket(adopting: stream.first) }
        == "EPROTOTYPE")
    #expect(
      code { () throws(ThreadingError) in _ = try MessageSocket(adopting: pipe.reader) }
        == "ENOTSOCK")
    #expect(
      code { () throws(ThreadingError) in _ = try MessageSocket.pair(maximumSize: 0) } == "EINVAL")
    let (near, _) = try MessageSocket.pair()
    #expect(code { () throws(ThreadingError) in try near.send([]) } == "EINVAL")
    let huge = [UInt8](repeating: 0, count: 64 << 20)
    #expect(code { () throws(ThreadingError) in try near.send(huge) } == "EMSGSIZE")
  }

  @Test("two processes talk; the death of one is the end for the other")
  func twoProcesses() async {
    await #expect(processExitsWith: .success) {
      try onOwnThread {
        guard let (near, far) = try? MessageSocket.pair() else { fatalError("no sockets") }
        // The child sends back what comes, one message at a time, and ends at "q" without a word.
        let child = startForkedChild {
          while let receipt = try? far.receive(until: .distantFuture),
            case .message(let message) = receipt
          {
            if message.bytes == Array("q".utf8) { return true }
            guard (try? far.send(message.bytes)) == .sent else { return false }
          }
          return false
        }
        closeEnd(far)
        let received = Received()
        try? received.add(MessageSource(near, handler: received.handler))
        for word in ["one", "two", "three"] {
          let result = try? near.send(Array(word.utf8))
          precondition(result == .sent)
        }
        received.waitForMessages(3)
        let result = try? near.send(Array("q".utf8))
        precondition(result == .sent)
        let log = received.waitForEnd()
        let words = log.messages.map { String(decoding: $0.bytes, as: UTF8.self) }
        precondition(words == ["one", "two", "three"] && log.endings == ["end"])
        let status = waitForChild(child)
        precondition(status == 0, "\(status)")
        received.end()
      }
    }
  }

  @Test("a flood of messages does not hold up blocks and timers; paused, it waits in the system")
  func fairAndPaused() throws {
    let (near, far) = try MessageSocket.pair()
    let thread = try LoopThread()
    defer { thread.end() }
    let seen = Shared(0)
    let source = MessageSource(near) { source, event in
      // Each is answered with another: there always is one.
      guard case .message(let message) = event else { return }
      seen.change { $0 += 1 }
      _ = try? far.send(message.bytes)
    }
    for number in 1...100 { try far.send([UInt8(number)]) }
    try thread.loop.add(source)
    let fired = Shared(0)
    try thread.loop.add(ThreadTimer(every: .microseconds(100)) { _ in fired.change { $0 += 1 } })
    fired.waitUntil { $0 >= 5 }
    try thread.loop.performAndWait {}
    source.pause()
    try thread.loop.performAndWait {}
    let count = seen.value
    #expect(count > 100)
    try thread.loop.performAndWait {}
    #expect(seen.value == count)
    source.resume()
    seen.waitUntil { $0 > count }
    source.cancel()
    try thread.loop.performAndWait {}
    let last = seen.value
    try thread.loop.performAndWait {}
    #expect(seen.value == last)
  }

  @Test("a handler that runs its loop is handed the following messages in order")
  func nested() throws {
    let (near, far) = try MessageSocket.pair()
    for number in 1...5 { try far.send([UInt8(number)]) }
    far.endSending()
    let log = try onOwnThread {
      let log = Shared<[Int]>([])
      let source = MessageSource(near) { _, event in
        guard case .message(let message) = event else {
          log.append(0)
          return
        }
        log.append(Int(message.bytes[0]))
        if message.bytes[0] == 2 { ThreadRunLoop.current.run() }
      }
      try? ThreadRunLoop.current.add(source)
      ThreadRunLoop.current.run()
      return log.value
    }
    #expect(log == [1, 2, 3, 4, 5, 0])
  }

  // MARK: Queues

  @Test("a queue is made, found by its name, and removed; messages come by priority")
  func queue() throws {
    let name = QueueName()
    let maker = try NamedMessageQueue(
      name.value, making: .always, capacity: 5, maximumSize: 100)
    #expect(maker.capacity == 5)
    #expect(maker.maximumSize == 100)
    let sender = try NamedMessageQueue(name.value, for: .sending)
    for (word, priority) in [("low", 1), ("high", 9), ("also low", 1)] as [(String, UInt32)] {
      #expect(try sender.send(Array(word.utf8), priority: priority) == .sent)
    }
    #expect(maker.count == 3)
    let received = Received()
    defer { received.end() }
    let source = MessageSource(maker, handler: received.handler)
    try received.add(source)
    received.waitForMessages(3)
    #expect(received.thread.waitUntilAsleep())
    #expect(try sender.send([]) == .sent)
    let messages = received.waitForMessages(4)
    #expect(
      messages.map { String(decoding: $0.bytes, as: UTF8.self) } == ["high", "low", "also low", ""])
    #expect(messages.map(\.priority) == [9, 1, 1, 0])
  }

  @Test("a full queue refuses, lets its sender wait until a moment, and tells when there is room")
  func queueBackPressure() throws {
    let name = QueueName()
    let queue = try NamedMessageQueue(name.value, making: .ifMissing, capacity: 2, maximumSize: 8)
    #expect(try queue.send([1]) == .sent)
    #expect(try queue.send([2]) == .sent)
    #expect(try queue.send([3]) == .full)
    #expect(try queue.send([3], until: .now.advanced(by: .milliseconds(5))) == .full)
    let thread = try LoopThread()
    defer { thread.end() }
    let hasRoom = Shared(false)
    try queue.whenRoom(on: thread.loop) { hasRoom.set(true) }
    let join = try inBackground { _ = try? queue.send([4], until: .distantFuture) }
    #expect(try queue.receive() == .message(.init(bytes: [1], priority: 0)))
    join()
    #expect(try queue.receive() == .message(.init(bytes: [2], priority: 0)))
    hasRoom.waitUntil { $0 }
    #expect(try queue.receive(until: .distantFuture) == .message(.init(bytes: [4], priority: 0)))
    #expect(try queue.receive() == .nothing)
    #expect(try queue.receive(until: .now.advanced(by: .milliseconds(5))) == .nothing)
  }

  @Test("queues and messages that are not allowed are refused with the reason")
  func queueRefusals() throws {
    let name = QueueName()
    func code(_ body: () throws(ThreadingError) -> Void) -> String {
      do throws(ThreadingError) { try body() } catch {
        #expect(!error.message.isEmpty)
        return error.codeName
      }
      return "none"
    }
    #expect(
      code { () throws(ThreadingError) in _ = try NamedMessageQueue(name.value) } == "ENOENT")
    #expect(
      code { () throws(ThreadingError) in try NamedMessageQueue.remove(name.value) } == "ENOENT")
    #expect(
      code { () throws(ThreadingError) in
        _ = try NamedMessageQueue("no slash", making: .ifMissing)
      } == "EINVAL")
    #expect(
      code { () throws(ThreadingError) in
        _ = try NamedMessageQueue(name.value, making: .always, capacity: 0)
      } == "EINVAL")
    let queue = try NamedMessageQueue(
      name.value, for: .receiving, making: .always, capacity: 1, maximumSize: 4)
    #expect(
      code { () throws(ThreadingError) in
        _ = try NamedMessageQueue(name.value, making: .always)
      } == "EEXIST")
    #expect(code { () throws(ThreadingError) in try queue.send([1]) } == "EBADF")
    #expect(
      code { () throws(ThreadingError) in try queue.send([1, 2, 3, 4, 5]) } == "EMSGSIZE")
    #expect(
      code { () throws(ThreadingError) in try queue.send([1], priority: 32_768) } == "EINVAL")
    let sender = try NamedMessageQueue(name.value, for: .sending)
    #expect(code { () throws(ThreadingError) in _ = try sender.receive() } == "EBADF")
  }

  @Test("a queue outlives those who use it; another process is handed what waits")
  func queueBetweenProcesses() async {
    await #expect(processExitsWith: .success) {
      try onOwnThread {
        let name = QueueName()
        func leave(_ text: String) -> Bool {
          let queue = try? NamedMessageQueue(
            name.value, making: .ifMissing, capacity: 3, maximumSize: 16)
          return (try? queue?.send(Array(text.utf8), priority: 3)) == .sent
        }
        func take() -> String? {
          let queue = try? NamedMessageQueue(name.value)
          guard case .message(let message) = try? queue?.receive(), message.priority == 3 else {
            return nil
          }
          return String(decoding: message.bytes, as: UTF8.self)
        }
        precondition(leave("left behind"))
        // Nobody has the queue open here: the child finds it by its name.
        let status = inForkedChild { take() == "left behind" && leave("answer") }
        precondition(status == 0, "\(status)")
        let answer = take()
        precondition(answer == "answer")
      }
    }
  }
}

/// Closes the system's end of a socket whose object lives on.
private func closeEnd(_ socket: MessageSocket) {
  let nowhere = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
  dup2(nowhere, socket.descriptor)
  close(nowhere)
}

/// A loop whose thread keeps what a source tells.
private final class Received: Sendable {
  struct Log {
    var messages: [ReceivedMessage] = []
    var endings: [String] = []
  }

  let thread: LoopThread
  private let log = Shared(Log())
  private let source = Shared<MessageSource?>(nil)

  init() {
    guard let thread = try? LoopThread() else { fatalError("no thread") }
    self.thread = thread
  }

  var handler: MessageSource.Handler {
    let log = log
    return { _, event in
      switch event {
      case .message(let message): log.change { $0.messages.append(message) }
      case .end: log.change { $0.endings.append("end") }
      case .failed(let error): log.change { $0.endings.append(error.codeName) }
      }
    }
  }

  func add(_ source: MessageSource) throws {
    self.source.set(source)
    try thread.loop.add(source)
  }

  var isScheduled: Bool { source.value?.isScheduled == true }

  func waitForEnd() -> Log { log.wait { $0.endings.last == "end" ? $0 : nil } }

  @discardableResult
  func waitForMessages(_ count: Int) -> [ReceivedMessage] {
    log.wait { $0.messages.count >= count ? $0.messages : nil }
  }

  func end() { thread.end() }
}

/// A name for a queue, which is removed with it.
private final class QueueName: Sendable {
  let value = "/threading-tests-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
  deinit { try? NamedMessageQueue.remove(value) }
}
