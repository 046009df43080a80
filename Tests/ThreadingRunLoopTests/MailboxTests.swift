import TestSupport
import Testing
import Threading
import ThreadingPlatform

@Suite("Mailbox", .endsInTime)
struct MailboxTests {
  @Test("messages of each thread are handled in order, each once", arguments: [1, 3])
  func order(senders: Int) throws {
    let thread = try LoopThread()
    let count = 5_000
    let seen = Shared([Int](repeating: 0, count: senders))
    let faults = Shared(0)
    let mailbox = Mailbox<(sender: Int, number: Int)> { message in
      seen.change {
        if $0[message.sender] != message.number { faults.change { $0 += 1 } }
        $0[message.sender] += 1
      }
    }
    try thread.loop.add(mailbox)
    try concurrently(senders) { sender in
      for number in 0..<count { mailbox.send((sender, number)) }
    }
    seen.waitUntil { $0.allSatisfy { $0 == count } }
    thread.end()
    #expect(faults.value == 0)
    #expect(mailbox.send((0, 0)) == .closed)
  }

  @Test("a run that a handler starts handles the messages that wait behind the handler's own")
  func nestedRun() throws {
    let (order, reasons) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let order = Shared<[Int]>([])
      let reasons = Shared<[ThreadRunLoop.ExitReason]>([])
      let mailbox = Mailbox<Int> { number in
        if number == 1 { reasons.append(ThreadRunLoop.current.poll()) }
        order.append(number)
      }
      try? loop.add(mailbox)
      for number in 1...3 { mailbox.send(number) }
      reasons.append(loop.poll())
      // Nothing is left of it.
      reasons.append(loop.poll())
      return (order.value, reasons.value)
    }
    #expect(order == [2, 3, 1])
    #expect(reasons == [.handledSource, .handledSource, .timedOut])
  }

  @Test("a message that is sent inside a handler is handled by a run that the handler starts then")
  func sentInside() throws {
    let (order, reasons) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let order = Shared<[Int]>([])
      let reasons = Shared<[ThreadRunLoop.ExitReason]>([])
      let box = Shared<Mailbox<Int>?>(nil)
      let mailbox = Mailbox<Int> { number in
        if number < 3 {
          if number == 1 {
            // Nothing is there yet.
            reasons.append(ThreadRunLoop.current.poll())
          }
          box.value?.send(number + 1)
          reasons.append(ThreadRunLoop.current.poll())
        }
        order.append(number)
      }
      box.set(mailbox)
      try? loop.add(mailbox)
      mailbox.send(1)
      reasons.append(loop.poll())
      // Nothing is left of it.
      reasons.append(loop.poll())
      box.set(nil)
      return (order.value, reasons.value)
    }
    #expect(order == [3, 2, 1])
    #expect(reasons == [.timedOut, .handledSource, .handledSource, .handledSource, .timedOut])
  }

  @Test(
    "a message that comes during a run inside a handler, and is handled after it, leaves nothing")
  func sentDuringInnerRun() throws {
    let (order, reasons) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let order = Shared<[Int]>([])
      let box = Shared<Mailbox<Int>?>(nil)
      let mailbox = Mailbox<Int> { number in
        if number == 1 {
          // In the last step of the pass, after which the inner run ends.
          let timer = try? ThreadTimer(after: .zero) { _ in
            loop.perform {
              box.value?.send(2)
              loop.stop()
            }
          }
          if let timer { try? loop.add(timer) }
          loop.run(until: ExitFlag())
        }
        order.append(number)
      }
      box.set(mailbox)
      try? loop.add(mailbox)
      mailbox.send(1)
      let reasons = [loop.poll(), loop.poll()]
      box.set(nil)
      return (order.value, reasons)
    }
    #expect(order == [1, 2])
    #expect(reasons == [.handledSource, .timedOut])
  }

  @Test(
    "who waits for all messages to be handled is told when the last of them is, or that time is up")
  func drained() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let mayGoOn = Shared(false)
    let seen = Shared<[Int]>([])
    let mailbox = Mailbox<Int> { number in
      mayGoOn.waitUntil { $0 }
      seen.append(number)
    }
    #expect(try mailbox.waitUntilDrained())
    for number in 1...3 { mailbox.send(number) }
    let moment = MonotonicInstant.now.advanced(by: .milliseconds(5))
    #expect(try !mailbox.waitUntilDrained(until: moment))
    #expect(MonotonicInstant.now >= moment)
    try thread.loop.add(mailbox)
    #expect(try !mailbox.waitUntilDrained(until: .now))
    let told = Shared<[Int]>([])
    let join = try inBackground {
      if (try? mailbox.waitUntilDrained()) == true { told.set(seen.value) }
    }
    mayGoOn.set(true)
    join()
    #expect(told.value == [1, 2, 3])
    for number in 4...1_000 { mailbox.send(number) }
    #expect(try mailbox.waitUntilDrained())
    #expect(seen.value.count == 1_000)
    #expect {
      try thread.loop.performAndWait { try mailbox.waitUntilDrained() }
    } throws: {
      ($0 as? ThreadingError)?.codeName == "EDEADLK"
    }
  }

  @Test("a message whose handler is under way is not handled, though later ones are")
  func drainedInside() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let (isInside, mayGoOn) = (Shared(false), Shared(false))
    let seen = Shared<[Int]>([])
    let mailbox = Mailbox<Int> { number in
      if number == 1 {
        ThreadRunLoop.current.poll()
        isInside.set(true)
        mayGoOn.waitUntil { $0 }
      }
      seen.append(number)
    }
    for number in 1...3 { mailbox.send(number) }
    try thread.loop.add(mailbox)
    isInside.waitUntil { $0 }
    #expect(seen.value == [2, 3])
    #expect(try !mailbox.waitUntilDrained(until: .now.advanced(by: .milliseconds(2))))
    mayGoOn.set(true)
    #expect(try mailbox.waitUntilDrained())
    #expect(seen.value == [2, 3, 1])
  }

  @Test("cancelled inside a handler, the messages behind are released at once, and a drain is told")
  func cancelledInside() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let handled = Shared(0)
    let (isInside, mayGoOn) = (Shared(false), Shared(false))
    let mailbox = Mailbox<Message> { _ in
      handled.change { $0 += 1 }
      isInside.set(true)
      mayGoOn.waitUntil { $0 }
    }
    var tokens = (0..<20).map { _ in Token() }
    let watched = tokens.map { WeakToken($0) }
    for token in tokens { mailbox.send(.hold(token)) }
    tokens = []
    try thread.loop.add(mailbox)
    isInside.waitUntil { $0 }
    let told = Shared<Bool?>(nil)
    let join = try inBackground { told.set(try? mailbox.waitUntilDrained()) }
    mailbox.cancel()
    #expect(watched.dropFirst().allSatisfy { $0.token == nil })
    join()
    #expect(told.value == false)
    mayGoOn.set(true)
    try thread.loop.performAndWait {}
    #expect(handled.value == 1)
    #expect(mailbox.send(.nothing) == .closed)
    #expect(mailbox.count == 0)
  }

  @Test("closed while the last message is being handled, it is drained when that has been done")
  func closedInTheMiddle() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let isRunning = Shared(false)
    let gate = Shared(false)
    let isDone = Shared(false)
    let mailbox = Mailbox<Int> { _ in
      isRunning.set(true)
      gate.waitUntil { $0 }
      isDone.set(true)
    }
    try thread.loop.add(mailbox)
    mailbox.send(1)
    isRunning.waitUntil { $0 }
    mailbox.close()
    #expect(mailbox.send(2) == .closed)
    #expect(try !mailbox.waitUntilDrained(until: .now))
    gate.set(true)
    #expect(try mailbox.waitUntilDrained())
    #expect(isDone.value)
  }

  @Test(
    "a message after a batch that was just full wakes the loop", arguments: [255, 256, 257, 512])
  func afterFullBatch(count: Int) throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let seen = Shared(0)
    let mailbox = Mailbox<Int> { _ in seen.change { $0 += 1 } }
    try thread.loop.add(mailbox)
    // All of them are there before the loop looks.
    let gate = Shared(false)
    thread.loop.perform { gate.waitUntil { $0 } }
    for number in 0..<count { mailbox.send(number) }
    gate.set(true)
    seen.waitUntil { $0 == count }
    #expect(thread.waitUntilAsleep())
    mailbox.send(count)
    seen.waitUntil { $0 == count + 1 }
  }

  @Test("a message that is sent while a run inside a handler sleeps wakes that run")
  func sentToInnerRun() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let flag = ExitFlag()
    let inside = Shared(false)
    let reason = Shared<ThreadRunLoop.ExitReason?>(nil)
    let mailbox = Mailbox<Int> { number in
      guard number == 1 else { return flag.set() }
      inside.set(true)
      reason.set(ThreadRunLoop.current.run(until: flag))
    }
    try thread.loop.add(mailbox)
    mailbox.send(1)
    inside.waitUntil { $0 }
    #expect(thread.waitUntilAsleep())
    mailbox.send(2)
    #expect(reason.wait { $0 } == .flagSet)
  }

  @Test("what was sent before the mailbox was on a loop is handled; a sleeping loop is woken")
  func early() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let seen = Shared<[Int]>([])
    let mailbox = Mailbox<Int> { seen.append($0) }
    #expect(mailbox.send(1) == .sent)
    #expect(mailbox.send(2) == .sent)
    #expect(mailbox.count == 2)
    #expect(thread.waitUntilAsleep())
    try thread.loop.add(mailbox)
    seen.waitUntil { $0.count == 2 }
    #expect(thread.waitUntilAsleep())
    mailbox.send(3)
    seen.waitUntil { $0 == [1, 2, 3] }
  }

  @Test(
    "a full mailbox refuses, lets its sender wait until a moment, and takes more when there is room"
  )
  func capacity() throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let gate = Shared(false)
    let seen = Shared<[Int]>([])
    let mailbox = Mailbox<Int>(capacity: 2) { message in
      gate.waitUntil { $0 }
      seen.append(message)
    }
    #expect(mailbox.send(1) == .sent)
    #expect(mailbox.send(2) == .sent)
    #expect(mailbox.send(3) == .full)
    let deadline = MonotonicInstant.now.advanced(by: .milliseconds(10))
    #expect(mailbox.send(3, until: deadline) == .full)
    #expect(MonotonicInstant.now >= deadline)
    let result = Shared<Mailbox<Int>.SendResult?>(nil)
    let join = try inBackground { result.set(mailbox.send(4, until: .distantFuture)) }
    try thread.loop.add(mailbox)
    gate.set(true)
    join()
    #expect(result.value == .sent)
    seen.waitUntil { $0 == [1, 2, 4] }
  }

  @Test("bounded, with senders that wait, nothing is lost and the bound holds", arguments: [1, 7])
  func backPressure(capacity: Int) throws {
    let thread = try LoopThread()
    let sum = Shared(0)
    let most = Shared(0)
    let box = Shared<Mailbox<Int>?>(nil)
    let mailbox = Mailbox<Int>(capacity: capacity) { message in
      sum.change { $0 += message }
      most.change { $0 = max($0, box.value!.count) }
    }
    box.set(mailbox)
    try thread.loop.add(mailbox)
    try concurrently(3) { _ in
      for number in 1...500 {
        if mailbox.send(number, until: .distantFuture) != .sent { sum.change { $0 -= 1_000_000 } }
      }
    }
    sum.waitUntil { $0 == 3 * 500 * 501 / 2 }
    thread.end()
    box.set(nil)
    #expect(most.value <= capacity)
  }

  @Test("a closed mailbox handles what waits, then leaves its loop")
  func close() throws {
    let (seen, reason) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let seen = Shared<[Int]>([])
      let mailbox = Mailbox<Int> { seen.append($0) }
      for number in 0..<600 { mailbox.send(number) }
      try? loop.add(mailbox)
      mailbox.close()
      #expect(mailbox.send(9_999) == .closed)
      let reason = loop.run()
      #expect(!mailbox.isScheduled)
      return (seen.value, reason)
    }
    #expect(seen == Array(0..<600))
    #expect(reason == .finished)
  }

  @Test(
    "when the loop's thread ends, waiting senders and askers are told, and messages are released")
  func loopEnds() throws {
    let made = Shared<ThreadRunLoop?>(nil)
    let mayEnd = Shared(false)
    let owner = try inBackground {
      made.set(.current)
      mayEnd.waitUntil { $0 }
    }
    let loop = made.wait { $0 }
    let mailbox = Mailbox<Message>(capacity: 2) { _ in }
    try loop.add(mailbox)
    let token = Shared<Token?>(Token())
    let watched = WeakToken(token.value!)
    mailbox.send(.hold(token.value!))
    token.set(nil)
    let results = Shared<[String]>([])
    let asker = try inBackground {
      do throws(ThreadingError) {
        _ = try mailbox.ask { Message.question($0) }
      } catch {
        results.append(error.codeName)
      }
    }
    #expect(eventually { mailbox.count == 2 })
    let sender = try inBackground {
      results.append("\(mailbox.send(.nothing, until: .distantFuture))")
    }
    mayEnd.set(true)
    owner()
    asker()
    sender()
    #expect(Set(results.value) == ["ECANCELED", "closed"])
    #expect(watched.token == nil)
  }

  @Test(
    "a question is answered; a reply that is dropped, late or for oneself is an error, not a hang")
  func ask() throws {
    let thread = try LoopThread()
    let kept = Shared<[MailboxReply<Int>]>([])
    let mailbox = Mailbox<Message> { message in
      switch message {
      case .question(let reply):
        #expect(reply.send(42))
        #expect(!reply.send(43))
      case .keep(let reply): kept.append(reply)
      default: break
      }
    }
    try thread.loop.add(mailbox)
    #expect(try mailbox.ask { .question($0) } == 42)
    #expect {
      let _: Int = try mailbox.ask { .drop($0) }
    } throws: {
      ($0 as? ThreadingError)?.codeName == "ECANCELED"
    }
    let soon = MonotonicInstant.now.advanced(by: .milliseconds(10))
    let late: Int? = try mailbox.ask(until: soon) { .keep($0) }
    #expect(late == nil)
    let code = try thread.loop.performAndWait { () -> String in
      do throws(ThreadingError) {
        return "\(try mailbox.ask { .question($0) })"
      } catch {
        return error.codeName
      }
    }
    #expect(code == "EDEADLK")
    thread.end()
    #expect(throws: ThreadingError.self) { try mailbox.ask { .question($0) } }
  }

  @Test("a flood of messages does not hold up blocks and timers of the loop")
  func fair() throws {
    let (reason, isFlooded) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let (handled, ran) = (Shared(0), Shared(0))
      let box = Shared<Mailbox<Int>?>(nil)
      let mailbox = Mailbox<Int> { message in
        handled.change { $0 += 1 }
        box.value?.send(message)
      }
      box.set(mailbox)
      for number in 0..<1_000 { mailbox.send(number) }
      try? loop.add(mailbox)
      try? loop.add(
        ThreadTimer(every: .microseconds(100)) { _ in
          loop.perform {
            ran.change { $0 += 1 }
            if ran.value == 5 { loop.stop() }
          }
        })
      let reason = loop.run(for: .seconds(50))
      let before = handled.value
      let timed = loop.run(for: .milliseconds(5))
      box.set(nil)
      return ([reason, timed], before > 0 && mailbox.count > 0)
    }
    #expect(reason == [.stopped, .timedOut])
    #expect(isFlooded)
  }

  @Test(
    "cancelled while the loop takes messages, each is handled or released, and once",
    arguments: [1, 2] as [UInt64])
  func cancelRace(seed: UInt64) throws {
    let thread = try LoopThread()
    let ledger = MessageLedger()
    var random = SeededGenerator(seed: seed)
    let count = 500
    for _ in 0..<(ThreadSanitizer.isActive ? 50 : 600) {
      let handled = AtomicCounter()
      let mailbox = Mailbox<CountedMessage> { _ in handled.increment() }
      for _ in 0..<count { mailbox.send(CountedMessage(ledger)) }
      try thread.loop.add(mailbox)
      // Somewhere among the first half.
      let moment = Int.random(in: 1...count / 2, using: &random)
      while handled.value < moment { SystemThread.yield() }
      mailbox.cancel()
    }
    thread.end()
    #expect(ledger.made.value > 0 && ledger.freed.value == ledger.made.value)
  }

  @Test("paused by its own handler, it handles no more messages; the rest in order after the pause")
  func pausedInside() throws {
    let (seen, counts) = try onOwnThread {
      let loop = ThreadRunLoop.current
      let seen = Shared<[Int]>([])
      let made = Shared<Mailbox<Int>?>(nil)
      let mailbox = Mailbox<Int> { number in
        seen.append(number)
        if number % 3 == 0 { made.value?.pause() }
      }
      made.set(mailbox)
      for number in 1...8 { mailbox.send(number) }
      try? loop.add(mailbox)
      var counts: [Int] = []
      for _ in 0..<4 {
        for _ in 0..<3 { loop.poll() }
        counts.append(seen.value.count)
        // What comes during the pause is behind what waits.
        mailbox.send(10 + seen.value.count)
        mailbox.resume()
      }
      mailbox.cancel()
      made.set(nil)
      return (seen.value, counts)
    }
    #expect(counts == [3, 6, 10, 11])
    #expect(seen == [1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 20])
  }

  @Test(
    "after a pause from another thread no handler begins until it ends",
    arguments: [1, 2] as [UInt64])
  func pause(seed: UInt64) throws {
    let thread = try LoopThread()
    let begun = AtomicCounter()
    let made = Shared<Mailbox<Int>?>(nil)
    // What is handled is sent anew, so that there is always something.
    let mailbox = Mailbox<Int> { [weak made] number in
      begun.increment()
      made?.value?.send(number)
    }
    made.set(mailbox)
    for number in 0..<1_000 { mailbox.send(number) }
    try thread.loop.add(mailbox)
    var random = SeededGenerator(seed: seed)
    var late = 0
    for _ in 0..<(LongTests.areOn ? 50_000 : ThreadSanitizer.isActive ? 500 : 3_000) {
      let before = begun.value
      // Somewhere in the row of messages.
      for _ in 0..<Int.random(in: 0..<200, using: &random) { Processors.relax() }
      mailbox.pause()
      let seen = begun.value
      for _ in 0..<100 { Processors.relax() }
      // One may have been taken before the pause.
      if begun.value > seen + 1 { late += 1 }
      mailbox.resume()
      while begun.value == before { SystemThread.yield() }
    }
    #expect(late == 0)
    mailbox.cancel()
    made.set(nil)
    thread.end()
    #expect(mailbox.count == 0)
  }

  @Test("after a cancel from another thread no handler begins", arguments: [1, 2] as [UInt64])
  func cancel(seed: UInt64) throws {
    let thread = try LoopThread()
    defer { thread.end() }
    let late = Shared(0)
    for _ in 0..<200 {
      let isCancelled = Shared(false)
      let mailbox = Mailbox<Int> { _ in
        if isCancelled.value { late.change { $0 += 1 } }
      }
      try thread.loop.add(mailbox)
      for number in 0..<50 { mailbox.send(number) }
      mailbox.cancel()
      // The handler that had begun is over when the loop comes to this.
      try thread.loop.performAndWait {}
      isCancelled.set(true)
    }
    #expect(late.value == 0)
  }
}

private enum Message: Sendable {
  case nothing
  case hold(Token)
  case question(MailboxReply<Int>)
  case drop(MailboxReply<Int>)
  case keep(MailboxReply<Int>)
}

/// How many messages were made and freed.
private final class MessageLedger: Sendable {
  let made = AtomicCounter()
  let freed = AtomicCounter()
}

private final class CountedMessage: Sendable {
  private let ledger: MessageLedger

  init(_ ledger: MessageLedger) {
    self.ledger = ledger
    ledger.made.increment()
  }

  deinit { ledger.freed.increment() }
}
