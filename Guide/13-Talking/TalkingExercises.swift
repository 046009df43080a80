import Threading

extension TalkingChapter {
  static let solutions = [
    Solution("three threads in a row") { page in
      let result = try squareAndAdd(1_000)
      page.claim("the sum of 1,000 squares came out at the end", result.sum == 333_833_500)
      page.claim("never more than 8 numbers waited between two of them", result.mostWaiting <= 8)
    },
    Solution("a child process that sorts") { page in
      let sorted = try sortByChild(["pear", "apple", "fig"])
      page.claim("three lines in order", sorted == ["apple", "fig", "pear"])
    },
  ]

  /// Numbers go through a mailbox to a thread that squares them, and on to one that adds them up. A
  /// thread that is too fast waits for room.
  static func squareAndAdd(_ count: Int) throws -> (sum: Int, mostWaiting: Int) {
    let sum = AtomicCounter()
    let most = AtomicBox(0)
    let adder = try LoopChapter.LoopThread(name: "adder")
    let squarer = try LoopChapter.LoopThread(name: "squarer")
    let squares = Mailbox<Int>(capacity: 8) { sum.increment(by: $0) }
    let numbers = Mailbox<Int>(capacity: 8) { number in
      _ = squares.send(number * number, until: .distantFuture)
      most.update { max($0, squares.count) }
    }
    try adder.loop.add(squares)
    try squarer.loop.add(numbers)
    for number in 1...count {
      _ = numbers.send(number, until: .distantFuture)
      most.update { max($0, numbers.count) }
    }
    // First in the row ends first: then nothing is on its way any more.
    try squarer.end(after: numbers)
    try adder.end(after: squares)
    return (sum.value, most.atomic.load(ordering: .relaxed))
  }

  static func sortByChild(_ lines: [String]) throws -> [String] {
    let output = try startSorting(lines)
    return try LoopChapter.onLoop { loop in
      let sorted = Locked<[String]>([])
      try loop.add(
        LineSource(output.number) { _, event in
          if case .line(let line) = event { sorted.withLock { $0.append(line.text) } }
        })
      loop.run()
      return sorted.withLock { $0 }
    }
  }

  /// Gives a child its lines. Its input is closed when this returns, so that it knows that all are there.
  private static func startSorting(_ lines: [String]) throws -> Descriptor {
    let child = try ChildCommand(["/usr/bin/env", "sort"])
    for line in lines where !child.input.write(line + "\n") { break }
    return child.output
  }
}

extension LoopChapter.LoopThread {
  /// Ends the thread when it has handled what is in a mailbox.
  func end<Message>(after mailbox: Mailbox<Message>) throws {
    _ = try mailbox.waitUntilDrained()
    try end()
  }
}
