import Threading

extension CostChapter {
  static let solutions = [
    Solution("five hundred threads at once") { page in
      let crowd = try crowd(of: 500)
      page.claim("at one moment, all 500 were there", crowd.threads >= 500)
      page.figure("their stacks together", "\(500 * 64 / 1_024) MiB")
      page.figure("memory that they took", "\(crowd.memory >> 20) MiB")
    },
    Solution("a function on a stack of the size it needs") { page in
      page.claim(
        "a deep recursion ended well", try withStack(of: 16 << 20) { descend(4_000) } == 4_000)
      page.claim("its error comes back", (try? withStack(of: 64 << 10) { try fail() }) == nil)
    },
  ]

  /// Starts threads that all live at one moment.
  ///
  /// - Returns: how many threads the process then had, and how much memory it had grown by.
  static func crowd(of count: Int) throws -> (threads: Int, memory: Int) {
    let before = ProcFile.bytes("VmRSS")
    let areThere = CountdownLatch(count)
    let mayEnd = CountdownLatch(1)
    let threads = try (0..<count).map { _ in
      try PosixThread.start(ThreadAttributes(stackSize: 64 << 10)) {
        areThere.countDown()
        mayEnd.wait()
      }
    }
    areThere.wait()
    let found = ProcFile.threads.count
    let memory = ProcFile.bytes("VmRSS") - before
    mayEnd.countDown()
    for thread in threads { try thread.join() }
    return (found, memory)
  }

  /// Runs a function on a thread whose stack has a size, and waits for it.
  static func withStack<Output: Sendable>(
    of size: Int, _ body: @escaping @Sendable () throws -> Output
  ) throws -> Output {
    try PosixThread.start(ThreadAttributes(stackSize: size), body: body).join()
  }

  private static func fail() throws {
    throw ThreadCancelled(reason: "an error of some sort")
  }
}
