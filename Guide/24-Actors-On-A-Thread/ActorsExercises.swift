import Threading

extension ActorsChapter {
  static let solutions = [
    Solution("two actors that share a thread") { page in
      let shared = try shareThread()
      page.claim("both ran on the same thread", shared.sameThread)
      page.claim("and one could use the other without waiting: 3 words", shared.words == 3)
    },
    Solution("asynchronous code that waits for a thread, and can be cancelled") { page in
      page.claim("the thread was cancelled with its task", try cancelThroughTask())
    },
  ]

  /// Counts words for a reader on the same thread.
  actor Counter {
    private let executor: RunLoopExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }
    private(set) var words = 0

    init(on executor: RunLoopExecutor) { self.executor = executor }

    func count(_ text: String) { words += text.split(separator: " ").count }

    var thread: UInt32 { ThreadHandle.current.kernelID }
  }

  actor Reader {
    private let executor: RunLoopExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }
    private let counter: Counter

    init(on executor: RunLoopExecutor, counter: Counter) {
      self.executor = executor
      self.counter = counter
    }

    /// No await: both actors have the same executor, so this code is on the counter's thread, too.
    func read(_ text: String) {
      counter.assumeIsolated { $0.count(text) }
    }

    var thread: UInt32 { ThreadHandle.current.kernelID }
  }

  static func shareThread() throws -> (sameThread: Bool, words: Int) {
    let worker = try LoopChapter.LoopThread(name: "both")
    let executor = RunLoopExecutor(worker.loop)
    let counter = Counter(on: executor)
    let reader = Reader(on: executor, counter: counter)
    let result = try waitForAsync {
      await reader.read("one two three")
      let threads = await [reader.thread, counter.thread]
      return (threads[0] == threads[1], await counter.words)
    }
    try worker.end()
    return result
  }

  static func cancelThroughTask() throws -> Bool {
    let isRunning = CountdownLatch(1)
    let wasCancelled = AtomicFlag()
    let task = Task {
      let thread = PosixThread {
        isRunning.countDown()
        do {
          try ThreadHandle.sleep(for: .seconds(3_600))
        } catch {
          _ = wasCancelled.testAndSet()
        }
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          do {
            try thread.start()
            // Another thread waits for the end, as waiting would block the task's own.
            try PosixThread.detach {
              _ = try? thread.join()
              continuation.resume()
            }
          } catch {
            continuation.resume()
          }
        }
      } onCancel: {
        thread.cancel()
      }
    }
    isRunning.wait()
    task.cancel()
    return try waitForAsync {
      await task.value
      return wasCancelled.isSet
    }
  }
}
