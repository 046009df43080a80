import Threading

extension SourceChapter {
  static func mailbox() throws -> String {
    let words = Locked<[String]>([])
    let sum = AtomicCounter()
    // snippet: mailbox
    enum Command: Sendable {
      case add(Int)
      case sum(MailboxReply<Int>)
    }
    let commands = Mailbox<Command>(capacity: 100) { command in
      switch command {
      case .add(let number):
        words.withLock { $0.append("\(number)") }
        sum.increment(by: number)
      case .sum(let reply):
        _ = reply.send(sum.value)
      }
    }
    let worker = try LoopChapter.LoopThread(name: "worker")
    try worker.loop.add(commands)
    for number in 3...5 { _ = commands.send(.add(number)) }
    let answer = try commands.ask { .sum($0) }
    // end
    try worker.end()
    return words.withLock { $0.joined(separator: " ") } + ", sum \(answer)"
  }
}
