import Synchronization
import TestSupport
import Testing
import Threading

private protocol ParserDelegate: AnyObject, Sendable {
  func parser(didRead word: Substring)
  func parser(didEndAs outcome: String)
}

/// Parses a text into words and tells of each.
private final class Parser: ReportingOperation<any ParserDelegate>, @unchecked Sendable {
  private let text: String
  let isMiddle = Gate()
  let goOn = Gate()

  init(
    _ text: String, _ delegate: any ParserDelegate, _ loop: ThreadRunLoop, tellsEnd: Bool = true
  ) {
    self.text = text
    super.init(delegate: delegate, on: loop)
    guard tellsEnd else { return }
    tellAtEnd { delegate, operation in
      delegate.parser(didEndAs: "\(operation.outcome.map { "\($0)" } ?? "none")")
    }
  }

  override func main() throws {
    for word in text.split(separator: " ") {
      if word == "stop" {
        isMiddle.open()
        goOn.pass()
      }
      try checkCancellation()
      tell { $0.parser(didRead: word) }
    }
  }
}

private final class List: ParserDelegate {
  let lines = Journal<String>()
  let end = ExitFlag()
  let home: ThreadRunLoop

  init(_ home: ThreadRunLoop) { self.home = home }

  func parser(didRead word: Substring) {
    if !home.isCurrent { Issue.record("told on another thread") }
    lines.append(String(word))
  }

  func parser(didEndAs outcome: String) {
    lines.append(outcome)
    end.set()
  }
}

@Suite("Delegates", .endsInTime)
struct DelegateTests {
  private func onOwnThread(_ body: @escaping @Sendable () throws -> Void) throws {
    let join = try inBackground {
      do { try body() } catch { Issue.record("\(error)") }
    }
    join()
  }

  @Test("The operation works on a pool, its delegate is told in order on its loop's thread")
  func told() throws {
    try onOwnThread {
      let list = List(.current)
      try ThreadOperationQueue().add(Parser("one two three", list, .current))
      ThreadRunLoop.current.run(until: list.end)
      #expect(list.lines.entries == ["one", "two", "three", "completed"])
    }
  }

  @Test("After a cancellation nothing that was on its way arrives, but the end does")
  func cancelled() throws {
    try onOwnThread {
      let list = List(.current)
      let parser = Parser("one two stop three", list, .current)
      try ThreadOperationQueue().add(parser)
      parser.isMiddle.pass()
      // Two words are in the loop's inbox by now.
      parser.cancel()
      parser.goOn.open()
      ThreadRunLoop.current.run(until: list.end)
      #expect(list.lines.entries.count == 1)
      #expect(list.lines.entries[0].hasPrefix("failed"))
    }
  }

  @Test("Nor does it when the operation is gone before the loop comes to its messages")
  func cancelledAndGone() throws {
    try onOwnThread {
      let list = List(.current)
      weak var weakly: Parser?
      do {
        let parser = Parser("one two stop three", list, .current, tellsEnd: false)
        weakly = parser
        try ThreadOperationQueue(width: 1).add(parser)
        parser.isMiddle.pass()
        parser.cancel()
        parser.goOn.open()
        parser.wait()
      }
      #expect(eventually { weakly == nil })
      ThreadRunLoop.current.perform { list.end.set() }
      ThreadRunLoop.current.run(until: list.end)
      #expect(list.lines.entries.isEmpty)
    }
  }

  @Test("A delegate that is gone is told nothing, and is not kept")
  func gone() throws {
    try onOwnThread {
      weak var weakly: List?
      let parser: Parser
      do {
        let list = List(.current)
        weakly = list
        parser = Parser("one two", list, .current)
        #expect(parser.link.delegate === list)
      }
      #expect(weakly == nil)
      #expect(parser.link.delegate == nil)
      try parser.start()
      _ = ThreadRunLoop.current.run(for: .zero)
      #expect(parser.outcome.map { "\($0)" } == "completed")
    }
  }

  @Test("A loop that has ended takes no message")
  func endedLoop() throws {
    let home = Locked<ThreadRunLoop?>(nil)
    try onOwnThread { home.withLock { $0 = .current } }
    let loop = try #require(home.withLock { $0 })
    let list = List(loop)
    let link = LoopDelegate<any ParserDelegate>(list, on: loop)
    #expect(eventually { loop.hasEnded })
    #expect(!link.tell { $0.parser(didEndAs: "never") })
    #expect(list.lines.entries.isEmpty)
  }

  @Test("A value as a delegate stops the program")
  func value() async {
    await #expect(processExitsWith: .failure) { _ = LoopDelegate(5, on: .current) }
  }
}
