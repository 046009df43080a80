import Threading

extension ErrorsChapter {
  static func firstBadLine(_ text: String) throws -> Int? {
    // snippet: typed
    let reader = try PosixThread.start { () throws(ReadingError) in
      for (index, line) in text.split(separator: "\n").enumerated() {
        guard Int(line) != nil else { throw .badLine(index + 1) }
      }
    }
    switch try reader.result() {
    case .success: return nil
    case .failure(.badLine(let number)): return number
    }
    // end
  }

  static func failInGroup() throws -> (error: ReadingError?, wasCancelled: Bool) {
    let wasCancelled = AtomicFlag()
    let isAsleep = CountdownLatch(1)
    // snippet: group
    do {
      try withThreads { group in
        try group.start {
          isAsleep.countDown()
          do {
            try ThreadHandle.sleep(for: .seconds(3_600))
          } catch {
            _ = wasCancelled.testAndSet()  // error.reason tells of the other one's error
            throw error
          }
        }
        try group.start {
          isAsleep.wait()
          throw ReadingError.badLine(7)
        }
      }
      return (nil, false)
    } catch {
      return (error as? ReadingError, wasCancelled.isSet)
    }
    // end
  }

  static func errorOfBlock() throws -> ReadingError? {
    let worker = try LoopChapter.LoopThread(name: "worker")
    defer { try? worker.end() }
    // snippet: block
    do {
      try worker.loop.performAndWait { throw ReadingError.badLine(3) }
      return nil
    } catch {
      return error as? ReadingError
    }
    // end
  }

  static func errorOfQuestion() throws -> String? {
    let worker = try LoopChapter.LoopThread(name: "worker")
    defer { try? worker.end() }
    // snippet: question
    let mailbox = Mailbox<MailboxReply<Int>> { _ in }  // lets go of the reply
    try worker.loop.add(mailbox)
    do throws(ThreadingError) {
      _ = try mailbox.ask { $0 }
      return nil
    } catch {
      return error.codeName
    }
    // end
  }

  static func reported() throws -> String? {
    let report = Locked<String?>(nil)
    // snippet: detached
    func inBackground(_ body: @escaping @Sendable () throws -> Void) throws {
      try PosixThread.detach {
        do {
          try body()
        } catch {
          report.withLock { $0 = "\(error)" }
        }
      }
    }
    try inBackground { throw ReadingError.badLine(9) }
    // end
    return report.withLock(when: { $0 != nil }, for: .seconds(10)) { $0 } ?? nil
  }

  static func answerOfTimeout() throws -> Int? {
    let mayEnd = CountdownLatch(1)
    let slow = try PosixThread.start {
      mayEnd.wait()
      return 42
    }
    let answer = try slow.join(for: .milliseconds(5))
    mayEnd.countDown()
    try slow.join()
    return answer
  }
}
