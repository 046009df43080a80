import Threading

extension ImportChapter {
  static let solutions = [
    Solution("stop times by stop") { page in
      try TemporaryFolder.with { folder in
        let feed = "\(folder)/feed"
        try FeedGenerator.write(stopTimes: 3_000, to: feed)
        let plan = ImportPlan(feed: feed, database: "\(folder)/feed.sqlite")
        let board = try countByStop(plan)
        page.claim("each of the 3,000 new stop times was counted once", board.total == 3_000)
        let database = try FeedDatabase.openForReading(
          path: plan.database, library: SQLiteLibrary())
        let inDatabase = try database.integer("SELECT count(DISTINCT stop_id) FROM stop_times")
        page.claim(
          "at as many stops as the database has", board.stops.count == inDatabase.map { Int($0) })
        let ofOne = try database.integer("SELECT count(*) FROM stop_times WHERE stop_id = 'S7'")
        page.claim("at one of them as often as there", board.stops["S7"] == ofOne.map { Int($0) })
      }
    },
    Solution("two feeds at once") { page in
      try TemporaryFolder.with { folder in
        let plans = try ["north", "south"].enumerated().map { index, name in
          let feed = "\(folder)/\(name)"
          try FeedGenerator.write(stopTimes: 1_000 * (index + 1), to: feed)
          return ImportPlan(feed: feed, database: "\(feed).sqlite")
        }
        let both = try importBoth(plans)
        page.claim("both were under way at once", both.haveMet)
        page.claim(
          "the bar never went back, and reached the end",
          both.bar == both.bar.sorted() && both.bar.last == 100)
        let stopTimes = both.summaries.map { $0.tables.last?.inserted }
        page.claim(
          "each feed is in its own database",
          stopTimes == [1_000, 2_000]
            && both.summaries.allSatisfy { $0.failure == nil })
      }
    },
  ]

  /// Imports a feed, and counts stop times by stop on the calling thread while it does.
  static func countByStop(_ plan: ImportPlan) throws -> StopBoard {
    /// What belongs to the calling thread.
    struct View {
      var board = StopBoard()
      var reader: StopBoard.Reader?
      var failure: (any Error)?
    }
    let library = try SQLiteLibrary()
    let loop = ThreadRunLoop.current
    let view = LoopBound(View())
    let post = EventPost(to: loop) { event in
      guard case .batch(let batch) = event else { return }
      view.withValue { view in
        do {
          let reader = try view.reader ?? StopBoard.Reader(path: plan.database, library: library)
          view.reader = reader
          try view.board.merge(batch, from: reader)
        } catch {
          view.failure = error
        }
      }
    }
    let operation = ImportOperation(plan: plan, library: library) { post.send($0) }
    let isOver = ExitFlag()
    operation.addCompletion { _ in isOver.set() }
    try ThreadOperationQueue(name: "import", width: 1).add(operation)
    loop.run(until: isOver)
    if let failure = operation.summary.failure { throw failure }
    return try view.withValue { view in
      if let failure = view.failure { throw failure }
      return view.board
    }
  }

  struct Both {
    var summaries: [ImportSummary]
    var haveMet: Bool

    /// What the bar showed, one after the other.
    var bar: [Int]
  }

  /// Imports several feeds at once, each into its own database, with one bar for all of them.
  static func importBoth(_ plans: [ImportPlan]) throws -> Both {
    // The view is one, and belongs to the calling thread. So are the percents of the feeds.
    struct View {
      var percents: [Int]
      var bar: [Int] = []
    }
    let library = try SQLiteLibrary()
    let loop = ThreadRunLoop.current
    let view = LoopBound(View(percents: plans.map { _ in 0 }))
    // For the claim: each waits at its first event until the other has come to its own.
    let meeting = CyclicBarrier(plans.count)
    let met = AtomicCounter()
    let operations = plans.enumerated().map { index, plan in
      let post = EventPost(to: loop) { event in
        guard case .progress(let percent) = event else { return }
        view.withValue { view in
          view.percents[index] = percent
          view.bar.append(view.percents.reduce(0, +) / plans.count)
        }
      }
      let isFirst = AtomicFlag()
      return ImportOperation(plan: plan, library: library) { event in
        if !isFirst.testAndSet(), meeting.wait(for: .seconds(20)).isPassed { met.increment() }
        post.send(event)
      }
    }
    let queue = try ThreadOperationQueue(
      name: "import", width: plans.count,
      attributes: ThreadAttributes(
        name: ImportSession.threadName, stackSize: ImportSession.stackSize))
    let isOver = ExitFlag()
    let left = AtomicCounter(plans.count)
    for operation in operations {
      operation.addCompletion { _ in if left.decrement() == 0 { isOver.set() } }
    }
    try queue.add(contentsOf: operations)
    loop.run(until: isOver)
    return view.withValue { view in
      Both(
        summaries: operations.map(\.summary), haveMet: met.value == plans.count, bar: view.bar)
    }
  }
}
