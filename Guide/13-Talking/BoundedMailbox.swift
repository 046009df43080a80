import Threading

extension TalkingChapter {
  struct Filled {
    var results: [Mailbox<Int>.SendResult]
    var waited: Mailbox<Int>.SendResult
    var handled: [Int]
  }

  /// Fills a mailbox whose loop does not run yet.
  static func fillMailbox() throws -> Filled {
    let handled = Locked<[Int]>([])
    // snippet: bound
    let mailbox = Mailbox<Int>(capacity: 2) { number in
      handled.withLock { $0.append(number) }
    }
    let results = (1...3).map { mailbox.send($0) }
    // end
    let isOver = ExitFlag()
    let mayRun = CountdownLatch(1)
    let worker = try PosixThread.start {
      try ThreadRunLoop.current.add(mailbox)
      mayRun.wait()
      ThreadRunLoop.current.run(until: isOver)
    }
    // snippet: wait
    let sender = try PosixThread.start {
      mailbox.send(3, until: .now.advanced(by: .seconds(10)))
    }
    // end
    mayRun.countDown()
    let waited = try sender.join()
    _ = handled.withLock(when: { $0.count == 3 }, for: .seconds(10)) { _ in }
    isOver.set()
    try worker.join()
    return Filled(results: results, waited: waited, handled: handled.withLock { $0 })
  }
}
