import Glibc
import Threading

extension EndingChapter {
  /// A little service with three workers, one of which does not come back by itself.
  enum Service {
    // snippet: service
    static func run(on page: Page) throws {
      let loop = ThreadRunLoop.current
      let isOver = ExitFlag()
      let terminations = try SignalSource(SIGTERM) { _, _ in
        page.say("SIGTERM came")
        isOver.set()
      }
      try loop.add(terminations)

      let jobs = ConditionsChapter.ClosableBuffer()
      let workers = try (1...3).map { number in
        try PosixThread.start(ThreadAttributes(name: "worker \(number)")) {
          while let job = jobs.take() {
            // The job with the number 0 takes an hour.
            if job == 0 { try ThreadHandle.sleep(for: .seconds(3_600)) }
          }
        }
      }
      for job in 0..<20 { jobs.put(job) }
      loop.perform { kill(getpid(), SIGTERM) }  // as somebody outside would do
      loop.run(until: isOver)
      try shutDown(workers, jobs, on: page)
    }
    // end

    // snippet: shutdown
    static func shutDown(
      _ workers: [PosixThread<Void, any Error>], _ jobs: ConditionsChapter.ClosableBuffer,
      on page: Page
    ) throws {
      jobs.close()
      page.say("1. no more jobs are taken")

      let deadline = MonotonicInstant.now.advanced(by: .milliseconds(300))
      let late = try workers.filter { try $0.join(until: deadline) == nil }
      page.say("2. \(workers.count - late.count) of \(workers.count) workers have ended in time")

      for worker in late { worker.cancel(reason: "the program ends") }
      for worker in late { _ = try worker.result() }
      page.say("3. the others were cancelled, and have ended")

      page.say("4. now nobody uses the store: it is closed")
    }
    // end
  }
}
