import Threading

extension ActorsChapter {
  // snippet: actor
  /// An actor whose code all runs on the thread of one loop.
  actor Sensor {
    private let executor: RunLoopExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }

    private var readings = 0
    private var threads: Set<UInt32> = []

    init(on loop: ThreadRunLoop) { executor = RunLoopExecutor(loop) }

    func read() {
      readings += 1
      threads.insert(ThreadHandle.current.kernelID)
    }

    var report: (count: Int, threads: Set<UInt32>) { (readings, threads) }
  }
  // end

  static func callActor(times: Int) throws -> (count: Int, threads: Set<UInt32>, home: UInt32) {
    let worker = try LoopChapter.LoopThread(name: "sensor")
    // snippet: call
    let sensor = Sensor(on: worker.loop)
    let report = try waitForAsync {
      await withTaskGroup { group in
        for _ in 0..<times { group.addTask { await sensor.read() } }
      }
      return await sensor.report
    }
    // end
    let home = worker.loop.threadID
    try worker.end()
    return (report.count, report.threads, home)
  }

  static func runTask() throws -> (threads: [UInt32], home: UInt32) {
    let worker = try LoopChapter.LoopThread(name: "tasks")
    // snippet: task
    let executor = RunLoopExecutor(worker.loop)
    let threads = try waitForAsync {
      await Task(executorPreference: executor) {
        let before = kernelIDHere()
        try? await Task.sleep(for: .milliseconds(2))
        return [before, kernelIDHere()]
      }.value
    }
    // end
    let home = worker.loop.threadID
    try worker.end()
    return (threads, home)
  }

  /// The thread that runs the call.
  private static func kernelIDHere() -> UInt32 { ThreadHandle.current.kernelID }
}
