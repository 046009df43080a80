import Foundation
import Threading

/// A table that loads what is seen. `README.md` beside this file explains it.
enum TableChapter: Chapter {
  static let number = 18
  static let name = "table"
  static let title = "A table that loads what is seen"
  static let folder = "18-Lazy-Table"
  static let word: String? = "FEED"
  static let hasServer = true
  static let descriptors = 48

  static func run(with input: ChapterInput, on page: Page) throws {
    if let word = input.word { return try show(feed: word, on: page) }
    let site = try Site()
    let server = try LocalServer(port: input.port) { site.answer($0) }
    try show(site, server, on: page)
    try server.end()
  }

  static func run(on page: Page) throws { try run(with: ChapterInput(), on: page) }

  private static func show(_ site: Site, _ server: LocalServer, on page: Page) throws {
    page.section("The feed")
    let images = ThreadOperationQueue(name: "images", width: 1)
    let url = URL(string: server.address("harbour.rss"))!
    let table = NewsTable(base: url, queue: images) { page.live($0.state) }
    try read(url, into: table)
    page.claim("twelve rows, four at a time", table.batches == [4, 4, 4])
    page.claim("parsed in the background, told on the main thread", table.isOnMain)

    page.section("Scrolled, before any picture has come")
    for (count, first) in [(1, 0), (2, 4), (2, 2)] {
      try table.scroll(to: first)
      site.waitForRequests(count)
      page.say("rows \(first + 1)-\(first + 4)  \(table.state)")
    }
    page.say("(~ on its way, ! wanted, ? wanted later)")

    page.section("The server answers")
    site.open()
    table.waitForPictures()
    for line in table.lines { page.say(line) }
    page.claim(
      "what was seen came first: 5, 6, 3 and 4 behind 1", site.asked.prefix(5) == [1, 5, 6, 3, 4])
    page.claim(
      "then what may be seen next: 7 to 10", site.asked.dropFirst(5).sorted() == [7, 8, 9, 10])
    page.claim("nobody asked for 2, 11 and 12", Set(site.asked).isDisjoint(with: [2, 11, 12]))
    page.claim("all pictures came to the main thread", table.isOnMain)

    page.section("What is no feed")
    for name in ["page.html", "cut.rss", "nothing"] {
      page.say(try error(of: URL(string: server.address(name))!))
    }
  }

  /// Reads a feed, on the main thread's loop.
  ///
  /// - Throws: what is wrong with it; `ChapterFailure` if it has not come whole by the deadline.
  static func read(
    _ url: URL, into table: NewsTable, until deadline: MonotonicInstant = .distantFuture
  ) throws {
    let queue = ThreadOperationQueue(name: "feeds")
    // snippet: feed
    let download = Download(url)
    let parser = FeedParser(url.absoluteString, delegate: table, on: .main) {
      if let error = download.error { throw error }
      return download.data
    }
    try parser.addDependency(download)
    try queue.add(contentsOf: [download, parser])
    ThreadRunLoop.main.run(until: table.isRead, deadline: deadline)
    // end
    if !table.isRead.isSet { throw AsynchronousChapter.lateness(of: download, from: url) }
    if let error = table.error { throw error }
  }

  private static func error(of url: URL) throws -> String {
    do {
      try read(url, into: NewsTable(base: url, queue: ThreadOperationQueue()) { _ in })
      return "no error"
    } catch let failure as ChapterFailure {
      return failure.description
    }
  }

  /// Shows the feed that the reader has named: an address, or a file.
  private static func show(feed word: String, on page: Page) throws {
    let isAddress = word.hasPrefix("http://") || word.hasPrefix("https://")
    guard let url = isAddress ? URL(string: word) : URL(filePath: word),
      !isAddress || url.host?.isEmpty == false
    else { throw ChapterFailure("\(Printable(word)) is not an address", .usage) }
    let patience = AsynchronousChapter.patience
    if isAddress { page.say("asking for \(word), and its pictures, for \(patience) at most") }
    let deadline = MonotonicInstant.now.advanced(by: patience)
    let table = NewsTable(base: url, queue: ThreadOperationQueue(name: "images", width: 2)) { _ in }
    if isAddress {
      try read(url, into: table, until: deadline)
    } else {
      let parser = FeedParser(word, delegate: table, on: .main) {
        Data(try InputFile.bytes(of: word, limit: FeedReader.largest))
      }
      try ThreadOperationQueue(name: "feeds").add(parser)
      ThreadRunLoop.main.run(until: table.isRead)
      if let error = table.error { throw error }
    }
    try table.scroll(to: 0)
    table.waitForPictures(until: deadline)
    for line in table.lines { page.say(line) }
    page.figure("rows", table.rows.count)
  }
}
