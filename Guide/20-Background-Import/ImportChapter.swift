import Foundation
import Threading

/// Import a large data set and stay responsive. `README.md` beside this file explains it.
struct ImportChapter: Chapter {
  static let number = 20
  static let name = "import"
  static let title = "Import a large data set and stay responsive"
  static let folder = "20-Background-Import"

  let options: ImportOptions
  let console: Console

  /// Runs the chapter on the calling thread, whose run loop it runs meanwhile.
  ///
  /// - Returns: what the process shall end with.
  func run() -> ExitStatus {
    guard let feed = options.feed ?? SampleFeed.path else {
      console.fail("the feed that comes with the guide is gone; build the guide again")
      return .noInput
    }
    let plan = ImportPlan(
      feed: feed, isSample: options.feed == nil,
      database: options.database ?? Self.databaseName(for: feed), isStrict: options.isStrict)
    do {
      let library = try SQLiteLibrary(name: options.library)
      console.say("importing \(plan.feedName) into \(plan.database)")
      let result = try ImportSession(plan: plan, library: library, console: console).run()
      return finish(plan, result)
    } catch let error as LibraryError {
      console.fail(error)
      return .noLibrary
    } catch {
      console.fail("\(error)")
      return .system
    }
  }

  /// Imports the sample feed twice into a database that is gone afterwards.
  static func run(on page: Page) throws {
    try TemporaryFolder.with { try importTwice(in: $0, on: page) }
  }

  private static func importTwice(in folder: String, on page: Page) throws {
    guard let feed = SampleFeed.path else {
      throw FileError(action: "find", path: "SampleFeed", reason: "build the guide again")
    }
    let plan = ImportPlan(
      feed: feed, isSample: true, database: "\(folder)/feed.sqlite", isStrict: false)
    let library = try SQLiteLibrary(name: SQLiteLibrary.defaultName)
    let quiet = Console(isTerminal: false, print: { _ in }, printError: { _ in })
    for isFirst in [true, false] {
      let result = try ImportSession(plan: plan, library: library, console: quiet).run()
      let counts = result.summary.tables.reduce(into: (inserted: 0, unchanged: 0)) {
        $0.inserted += $1.inserted
        $0.unchanged += $1.unchanged
      }
      page.claim(
        isFirst ? "190 rows of the sample feed are imported" : "again: all 190 are there unchanged",
        result.summary.failure == nil
          && counts == (isFirst ? (inserted: 190, unchanged: 0) : (inserted: 0, unchanged: 190)))
    }
  }

  /// The database that a feed goes into unless another is named: in the current folder, and called
  /// like the feed's folder.
  static func databaseName(for feed: String) -> String {
    // The folder's own name, also where it is written as "." or "feeds/..".
    let name = URL(filePath: feed).resolvingSymlinksInPath().standardizedFileURL.lastPathComponent
    return (name == "/" ? "feed" : name) + ".sqlite"
  }

  private func finish(_ plan: ImportPlan, _ result: ImportSession.Result) -> ExitStatus {
    let failure = result.summary.failure
    switch failure {
    case nil, .cancelled: break
    case .refused(let problem): console.complain("\(problem)")
    case .noFeed(let problems):
      for problem in problems { console.complain("\(problem)") }
      return .noInput
    case .file(let error): console.fail(error)
    case .database(let error), .view(let error): console.fail(error)
    }
    // Of an import that failed before it began a file there is nothing to report.
    if failure == nil || failure == .cancelled || !result.summary.tables.isEmpty {
      let report = ImportReport(plan: plan, result: result, peakMemory: PeakMemory.bytes)
      for line in [""] + report.lines { console.say(line) }
    }
    switch failure {
    case nil: return result.summary.lacksRequiredTable ? .badData : .done
    case .cancelled: return .cancelled
    case .refused: return .badData
    case .noFeed, .file: return .noInput
    case .database, .view: return .fileError
    }
  }
}
