import Threading

extension TalkingChapter {
  static func readPipe() throws -> [String] {
    let (reading, writer) = try startWriter()
    let lines = try LoopChapter.onLoop { loop in
      let lines = Locked<[String]>([])
      // snippet: pipe
      let source = LineSource(reading.number) { _, event in
        switch event {
        case .line(let line): lines.withLock { $0.append(line.text) }
        case .end: lines.withLock { $0.append("(end)") }
        case .failed(let error): lines.withLock { $0.append("\(error)") }
        }
      }
      try loop.add(source)
      loop.run()  // returns when the source has come to its end
      // end
      return lines.withLock { $0 }
    }
    return try writer.join() ? lines : []
  }

  /// Starts a thread that writes into a pipe. When it has ended, nobody has the end for writing any more,
  /// and so the pipe ends.
  static func startWriter() throws -> (reading: Descriptor, PosixThread<Bool, Never>) {
    let pipe = try Descriptor.pipe()
    let writer = try PosixThread.start { [writing = pipe.writing] in
      ["one\n", "two\r\n", "three"].allSatisfy { writing.write($0) }
    }
    return (pipe.reading, writer)
  }

  static func askOverSockets(_ question: String) throws -> String {
    let (mine, its) = try Descriptor.socketPair()
    let worker = try LoopChapter.LoopThread(name: "upper case")
    // snippet: sockets
    let source = DescriptorSource(its.number, for: .readable) { source, _ in
      let question = its.read()
      if question.isEmpty || !its.write(question.uppercased()) { source.cancel() }
    }
    try worker.loop.add(source)
    guard mine.write(question) else { return "" }
    let answer = mine.read()
    // end
    try worker.end()
    return answer
  }

  /// Microseconds from a question to its answer.
  static func roundTrips() throws -> (perform: Double, mailbox: Double, sockets: Double) {
    let count = 300
    let worker = try LoopChapter.LoopThread(name: "worker")
    let mailbox = Mailbox<MailboxReply<Int>> { _ = $0.send(42) }
    try worker.loop.add(mailbox)
    let (mine, its) = try Descriptor.socketPair()
    let source = DescriptorSource(its.number, for: .readable) { _, _ in _ = its.write(its.read()) }
    let perform = try Stopwatch.time {
      for _ in 0..<count { _ = try worker.loop.performAndWait { 42 } }
    }
    let ask = try Stopwatch.time {
      for _ in 0..<count { _ = try mailbox.ask { $0 } }
    }
    try worker.loop.add(source)
    let sockets = Stopwatch.time {
      for _ in 0..<count where mine.write("?") { _ = mine.read() }
    }
    try worker.end()
    let one = Duration.microseconds(count)
    return (perform / one, ask / one, sockets / one)
  }
}
