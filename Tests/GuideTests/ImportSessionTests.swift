import Foundation
import TestSupport
import Testing
import Threading

@testable import guide

@Suite("ImportSession", .endsInTime)
struct ImportSessionTests {
  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  /// Runs a session on a thread of its own, which has a run loop of its own.
  func session(
    _ plan: ImportPlan, isTerminal: Bool = false,
    whenPrinted: @escaping @Sendable (String) -> Void = { _ in }
  ) throws -> (result: ImportSession.Result, output: String, errors: String) {
    typealias Answer = (ImportSession.Result, String, String)
    let answer = Locked<Result<Answer, any Error>?>(nil)
    let join = try inBackground {
      let result = Result<Answer, any Error> {
        let recorder = Recorder()
        recorder.whenPrinted = whenPrinted
        let session = ImportSession(
          plan: plan, library: try SQLiteLibrary(),
          console: recorder.console(isTerminal: isTerminal))
        return (try session.run(), recorder.output, recorder.errors)
      }
      answer.withLock { $0 = result }
    }
    join()
    return try #require(answer.withLock { $0 }).get()
  }

  @Test("what the importing thread wrote is what the loop's thread has merged by ids")
  func merges() throws {
    let feed = folder.path + "/feed"
    try FeedGenerator.write(stopTimes: 3_000, to: feed)
    let result = try session(ImportPlan(feed: feed, database: folder.database)).result
    #expect(result.summary.failure == nil)
    for table in result.summary.tables {
      #expect(result.board.newRows[table.table] == table.inserted)
    }
    #expect(result.board.mergedRows == result.summary.rowsRead)
    #expect(result.board.routes.count == 40)
    #expect(result.board.routes.values.reduce(0) { $0 + $1.newTrips } == 60)
    #expect(result.board.routes.values.reduce(0) { $0 + $1.newStopTimes } == 3_000)
    let database = try ImportedDatabase(folder.database)
    let route = try #require(result.board.routes["R7"])
    #expect(route.name == "7 Line 7")
    let join = "FROM stop_times JOIN trips USING (trip_id) WHERE route_id = 'R7'"
    #expect(route.firstDeparture == (try database.integer("SELECT min(departure_time) \(join)")))
    #expect(route.lastDeparture == (try database.integer("SELECT max(departure_time) \(join)")))
    #expect(result.heartbeat.beats > 0)
  }

  @Test("a second run merges nothing, a changed row is merged as changed")
  func changes() throws {
    let trips = "route_id,service_id,trip_id\nR,S,"
    let routes = "route_id,route_short_name,route_long_name,route_type\nR,1,One,3\n"
    let plan = ImportPlan(
      feed: try folder.feed(["routes": routes, "trips": trips + "T\n"]), database: folder.database)
    #expect(try session(plan).result.board.mergedRows == 2)
    #expect(try session(plan).result.board == RouteBoard())
    _ = try folder.feed(["routes": routes.replacing("One", with: "Two"), "trips": trips + "U\n"])
    let board = try session(plan).result.board
    #expect(board.newRows == ["trips": 1])
    #expect(board.changedRows["routes"] == 1)
    #expect(board.routes["R"]?.name == "1 Two")
    #expect(board.routes["R"]?.newTrips == 1)
    #expect(board.routes["R"]?.changedRows == 1)
  }

  @Test("under strict the loop's thread merges all of it after the commit")
  func strict() throws {
    let feed = folder.path + "/feed"
    try FeedGenerator.write(stopTimes: 600, to: feed)
    let plan = ImportPlan(feed: feed, database: folder.database, isStrict: true)
    let result = try session(plan).result
    #expect(result.board.mergedRows == result.summary.rowsRead)
    #expect(result.board.newRows["stop_times"] == 600)
  }

  @Test("stop times of a trip that is not there are imported and shown as such")
  func danglingReferences() throws {
    let feed = try folder.feed([
      "stop_times": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\nX,,7:00:00,Y,1\n"
    ])
    let result = try session(ImportPlan(feed: feed, database: folder.database)).result
    #expect(result.board.routes[""]?.newStopTimes == 1)
    let report = ImportReport(
      plan: ImportPlan(feed: feed, database: "db"), result: result, peakMemory: nil)
    #expect(report.lines.contains { $0.contains("(no such trip)") })
  }

  @Test("the view keeps so many routes apart and no more, and counts the rest")
  func manyRoutes() throws {
    let count = RouteBoard.places + 10
    let routes = (0..<count).map { "R\($0),\($0),,3\n" }.joined()
    let trips = (0..<count).map { "R\($0),S,T\($0)\n" }.joined()
    let feed = try folder.feed([
      "routes": Folder.headers["routes"]! + "\n" + routes,
      "trips": Folder.headers["trips"]! + "\n" + trips,
    ])
    let plan = ImportPlan(feed: feed, database: folder.database)
    let result = try session(plan).result
    #expect(result.board.routes.count == RouteBoard.places)
    #expect(result.board.otherRoutes == 10)
    #expect(result.board.others.newTrips == 10)
    #expect(result.board.newRows == ["routes": count, "trips": count])
    let lines = ImportReport(plan: plan, result: result, peakMemory: nil).lines
    #expect(lines.contains("  and 5,005 more routes"))
    let rest = try #require(lines.first { $0.hasPrefix("  routes beyond those ") })
    #expect(rest.contains(" 10 new trips"))
  }

  @Test("a report fits into 80 columns, also of an import that was undone")
  func reportWidth() throws {
    let feed = folder.path + "/feed"
    try FeedGenerator.write(stopTimes: 1_000, to: feed)
    let file = try FileHandle(forWritingTo: URL(filePath: feed + "/stop_times.txt"))
    try file.seekToEnd()
    try file.write(contentsOf: Data("bad\n".utf8))
    for isStrict in [false, true] {
      let plan = ImportPlan(feed: feed, database: folder.database, isStrict: isStrict)
      let result = try session(plan).result
      let report = ImportReport(plan: plan, result: result, peakMemory: 20_000_000)
      // The first line names the feed and the database.
      for line in report.lines.dropFirst() { #expect(line.count <= 80, "\(line)") }
    }
  }

  @Test("a terminal that is stopped when all is over does not count as a loop that is held up")
  func stoppedTerminal() throws {
    let plan = ImportPlan(feed: try #require(SampleFeed.path), database: folder.database)
    let heartbeat = try session(plan, isTerminal: true) { text in
      // The bar is taken away.
      if text == "\r\u{1B}[K" { usleep(1_000_000) }
    }.result.heartbeat
    if let delay = heartbeat.longestOwnDelay { #expect(delay < .milliseconds(500)) }
  }

  @Test("progress is lines of whole tens where the output is no terminal")
  func lines() throws {
    let feed = folder.path + "/feed"
    try FeedGenerator.write(stopTimes: 2_000, to: feed)
    let output = try session(ImportPlan(feed: feed, database: folder.database)).output
    let lines = output.split(separator: "\n")
    #expect(lines.map { $0.prefix { $0 != "(" } } == (1...10).map { "progress: \($0 * 10)% " })
    #expect(!output.contains("\r"))
  }

  @Test("progress is a bar that is drawn over on a terminal, and problems stand beside it")
  func bar() throws {
    let feed = try folder.feed(["stops": "stop_id,stop_name,stop_lat,stop_lon\nA,B,1\nC,D,1,2\n"])
    let (_, output, errors) = try session(
      ImportPlan(feed: feed, database: folder.database), isTerminal: true)
    #expect(output.contains("\r[##############################] 100% stop_times.txt\u{1B}[K"))
    #expect(!output.contains("\n"))
    #expect(output.hasSuffix("\r\u{1B}[K"))
    #expect(errors == "stops.txt:2:6: wrong number of fields: 3 fields where the header has 4\n")
  }

  @Test("the work is done on a thread with the chosen name and stack, and told on the loop's")
  func threads() throws {
    let names = Locked<Set<String>>([])
    let stacks = Locked<Set<Int>>([])
    let feed = try #require(SampleFeed.path)
    let plan = ImportPlan(feed: feed, database: folder.database)
    let queue = try ThreadOperationQueue(
      name: "import", width: 1,
      attributes: ThreadAttributes(
        name: ImportSession.threadName, stackSize: ImportSession.stackSize))
    let operation = ImportOperation(plan: plan, library: try SQLiteLibrary()) { _ in
      names.withLock {
        _ = $0.insert(SystemFile.words(of: "/proc/thread-self/comm")![0].description)
      }
      stacks.withLock { _ = $0.insert(Self.stackSize) }
    }
    try queue.add(operation)
    operation.wait()
    #expect(names.withLock { $0 } == [ImportSession.threadName])
    // The C library may hand out the stack of a thread that has ended if it is less than 4 times as
    // large. The default would be 8 MiB.
    let allowed = ImportSession.stackSize..<(4 * ImportSession.stackSize)
    #expect(stacks.withLock { $0 }.allSatisfy(allowed.contains))
    #expect(stacks.withLock { $0 }.count == 1)
    #expect(operation.summary.failure == nil)
  }

  /// The size of the calling thread's stack.
  private static var stackSize: Int {
    var attributes = pthread_attr_t()
    // Swift does not see this function of the C library, since it is an extension of POSIX.
    typealias GetAttributes =
      @convention(c) (pthread_t, UnsafeMutablePointer<pthread_attr_t>) -> CInt
    let function = unsafe unsafeBitCast(
      dlsym(nil, "pthread_getattr_np"), to: GetAttributes.self)
    guard unsafe function(pthread_self(), &attributes) == 0 else { return 0 }
    defer { unsafe pthread_attr_destroy(&attributes) }
    var size = 0
    unsafe pthread_attr_getstacksize(&attributes, &size)
    return size
  }

  @Test("an operation that is cancelled before it starts imports nothing and says so")
  func cancelledBefore() throws {
    let operation = ImportOperation(
      plan: ImportPlan(feed: try #require(SampleFeed.path), database: folder.database),
      library: try SQLiteLibrary()
    ) { _ in }
    operation.cancel()
    let queue = ThreadOperationQueue(name: "import", width: 1)
    try queue.add(operation)
    operation.wait()
    #expect(operation.summary.failure == .cancelled)
    #expect(!FileManager.default.fileExists(atPath: folder.database))
  }

  @Test("the post holds the sender back while the loop is behind, and delivers in order")
  func backPressure() throws {
    let received = Locked<[Int]>([])
    let sent = Locked(0)
    let isOver = ExitFlag()
    let loops = Locked<ThreadRunLoop?>(nil)
    let joinLoop = try inBackground {
      loops.withLock { $0 = .current }
      // The loop does not run before the sender has come as far as it can.
      _ = eventually { sent.withLock { $0 } >= EventPost.places }
      for _ in 0..<100 { sched_yield() }
      #expect(sent.withLock { $0 } == EventPost.places)
      ThreadRunLoop.current.run(until: isOver)
    }
    #expect(eventually { loops.withLock { $0 } != nil })
    let loop = try #require(loops.withLock { $0 })
    let joinSender = try inBackground {
      let post = EventPost(to: loop) { event in
        if case .progress(let percent) = event { received.withLock { $0.append(percent) } }
      }
      for percent in 1...50 {
        post.send(.progress(percent: percent))
        sent.withLock { $0 += 1 }
      }
      isOver.set()
    }
    joinSender()
    joinLoop()
    #expect(received.withLock { $0 } == Array(1...50))
  }

  @Test("a sender to a loop whose thread has ended is not held back")
  func endedLoop() throws {
    let loops = Locked<ThreadRunLoop?>(nil)
    let join = try inBackground { loops.withLock { $0 = .current } }
    join()
    let post = EventPost(to: try #require(loops.withLock { $0 })) { _ in }
    for percent in 1...(EventPost.places * 2) { post.send(.progress(percent: percent)) }
  }

  @Test("a value bound to a loop stops the program on another thread")
  func loopBound() async {
    await #expect(processExitsWith: .failure) {
      let bound = LoopBound(1)
      let join = try inBackground { bound.withValue { $0 += 1 } }
      join()
    }
  }

  @Test("a heartbeat finds how long the loop was kept busy")
  func heartbeat() throws {
    let answer = Locked<Heartbeat.Measure?>(nil)
    let join = try inBackground {
      let heartbeat = try! Heartbeat()
      let loop = ThreadRunLoop.current
      loop.run(for: .milliseconds(20))
      let end = MonotonicInstant.now.advanced(by: .milliseconds(60))
      loop.perform { while MonotonicInstant.now < end {} }
      loop.run(for: .milliseconds(100))
      answer.withLock { $0 = heartbeat.stop() }
    }
    join()
    let measure = try #require(answer.withLock { $0 })
    #expect(measure.longestDelay >= .milliseconds(50))
    #expect(measure.beats >= 1)
  }
}
