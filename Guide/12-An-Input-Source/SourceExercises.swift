import Threading

extension SourceChapter {
  static let solutions = [
    Solution("a source that adds up") { page in
      let result = try addUp(threads: 4, times: 500)
      page.claim("what the handler got is the sum of all signals", result.sum == 2_000)
      page.claim(
        "it was called no more often than that", result.calls >= 1 && result.calls <= 2_000)
      page.figure("calls", result.calls)
    },
    Solution("a worker that counts words") { page in
      let counts = try countWords(["a b a", "b c", "a"])
      page.claim("three lines, counted in one place", counts == ["a": 3, "b": 2, "c": 1])
    },
  ]

  /// As a dispatch source of the kind "data add": each signal carries a number, the handler gets the sum
  /// of those since its last call.
  static func addUp(threads: Int, times: Int) throws -> (sum: Int, calls: Int) {
    let pending = AtomicCounter()
    let sum = AtomicCounter()
    let calls = AtomicCounter()
    let source = CustomInputSource { _ in
      sum.increment(by: pending.exchange(0))
      calls.increment()
    }
    let worker = try LoopChapter.LoopThread(name: "adder")
    try worker.loop.add(source)
    let signallers = try (0..<threads).map { _ in
      try PosixThread.start {
        for _ in 0..<times {
          pending.increment()
          source.signal()
        }
      }
    }
    for signaller in signallers { try signaller.join() }
    _ = sum.wait { $0 == threads * times }
    try worker.end()
    return (sum.value, calls.value)
  }

  /// The counts belong to the worker: only its handler touches them, so it needs no lock of its own.
  static func countWords(_ lines: [String]) throws -> [String: Int] {
    enum Message: Sendable {
      case line(String)
      case counts(MailboxReply<[String: Int]>)
    }
    let worker = try LoopChapter.LoopThread(name: "counter")
    let mailbox = try worker.loop.performAndWait { () throws -> Mailbox<Message> in
      let counts = LoopBound<[String: Int]>([:])
      let mailbox = Mailbox<Message> { message in
        switch message {
        case .line(let line):
          counts.withValue { counts in
            for word in line.split(separator: " ") { counts[String(word), default: 0] += 1 }
          }
        case .counts(let reply): _ = reply.send(counts.withValue { $0 })
        }
      }
      try ThreadRunLoop.current.add(mailbox)
      return mailbox
    }
    let senders = try lines.map { line in try PosixThread.start { _ = mailbox.send(.line(line)) } }
    for sender in senders { try sender.join() }
    let counts = try mailbox.ask { .counts($0) }
    try worker.end()
    return counts
  }
}
