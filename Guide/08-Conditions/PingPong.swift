import Threading

extension ConditionsChapter {
  // snippet: pingpong
  enum Turn: Sendable {
    case ping, pong
  }

  static func pingPong(rounds: Int) throws -> String {
    let turn = ConditionLock(Turn.ping)
    let words = Locked<[String]>([])
    let ping = try PosixThread.start {
      for _ in 0..<rounds {
        turn.withLock(when: .ping, settingTo: .pong) { words.withLock { $0.append("ping") } }
      }
    }
    let pong = try PosixThread.start {
      for _ in 0..<rounds {
        turn.withLock(when: .pong, settingTo: .ping) { words.withLock { $0.append("pong") } }
      }
    }
    // end
    try ping.join()
    try pong.join()
    return words.withLock { $0.joined(separator: " ") }
  }
}
