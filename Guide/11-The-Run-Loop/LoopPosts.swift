import Threading

extension LoopChapter {
  // snippet: worker
  /// A thread that runs its loop until it is told that all is over.
  final class LoopThread: Sendable {
    let loop: ThreadRunLoop
    private let isOver: ExitFlag
    private let thread: PosixThread<Void, Never>

    /// Starts the thread. Its loop may be used at once.
    init(name: String) throws {
      let isOver = ExitFlag()
      let place = Locked<ThreadRunLoop?>(nil)
      let isThere = CountdownLatch(1)
      thread = try PosixThread.start(ThreadAttributes(name: name)) {
        place.withLock { $0 = ThreadRunLoop.current }
        isThere.countDown()
        ThreadRunLoop.current.run(until: isOver)
      }
      isThere.wait()
      loop = place.withLock { $0! }
      self.isOver = isOver
    }

    /// Ends the thread when it has done what was posted before, and waits for it.
    func end() throws {
      isOver.set()
      try thread.join()
    }
  }
  // end

  static func blocksInOrder() throws -> [Int] {
    let worker = try LoopThread(name: "worker")
    let numbers = Locked<[Int]>([])
    for number in 1...1_000 {
      worker.loop.perform { numbers.withLock { $0.append(number) } }
    }
    try worker.end()
    return numbers.withLock { $0 }
  }

  static func answerOfLoop() throws -> Int {
    let worker = try LoopThread(name: "worker")
    // snippet: answer
    let answer = try worker.loop.performAndWait { 6 * 7 }
    // end
    try worker.end()
    return answer
  }
}
