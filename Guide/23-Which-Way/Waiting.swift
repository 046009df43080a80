import Foundation
import Threading

extension WaysChapter {
  static let party = 8

  /// How many pieces were inside at once, of eight that block their threads until all have come, or a while
  /// is over: a short one for those that will not come.
  static func mostInside(
    _ way: Way, patience: Duration = .milliseconds(100)
  ) throws -> Int {
    let gauge = LargeFilesChapter.Gauge()
    let allHere = CountdownLatch(party)
    _ = try way(party) { _ in
      gauge.enter(())
      allHere.countDown()
      _ = allHere.wait(for: patience)
      gauge.leave()
      return 0
    }
    return gauge.most
  }

  static func threadForEach(_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) throws -> Int {
    // snippet: each
    try withThreads { scope in
      let threads = try (0..<count).map { index in
        try scope.start(ThreadAttributes(stackSize: 128 * 1_024)) { piece(index) }
      }
      return try threads.reduce(0) { $0 + (try $1.join()) }
    }
    // end
  }

  static func queueOfWidth(_ count: Int, _ piece: @escaping @Sendable (Int) -> Int) throws -> Int {
    // snippet: width
    let queue = ThreadOperationQueue(name: "waiters", width: count)
    let operations = (0..<count).map { index in ResultOperation { piece(index) } }
    try queue.add(contentsOf: operations)
    // end
    return try operations.reduce(0) { $0 + (try $1.value()) }
  }

  // snippet: meeting
  /// A place where tasks meet without blocking a thread.
  actor Meeting {
    private let parties: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ parties: Int) { self.parties = parties }

    func wait() async {
      await withCheckedContinuation { continuation in
        waiting.append(continuation)
        if waiting.count == parties { for waiter in waiting { waiter.resume() } }
      }
    }
  }
  // end

  /// How many of eight tasks were inside at once, if they await the others.
  static func mostAwaiting() throws -> Int {
    try ActorsChapter.waitForAsync {
      let gauge = LargeFilesChapter.Gauge()
      let meeting = Meeting(party)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<party {
          group.addTask {
            gauge.enter(())
            await meeting.wait()
            gauge.leave()
          }
        }
      }
      return gauge.most
    }
  }
}
