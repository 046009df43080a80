import Foundation
import Threading

/// Operations whose work goes on after `main()`. `README.md` beside this file explains it.
enum AsynchronousChapter: Chapter {
  static let number = 17
  static let name = "downloads"
  static let title = "Asynchronous operations"
  static let folder = "17-Asynchronous"
  static let word: String? = "URL"
  static let hasServer = true
  static let descriptors = 48

  static func run(with input: ChapterInput, on page: Page) throws {
    if let word = input.word { return try fetch(word, on: page) }
    let desk = Desk()
    let server = try LocalServer(port: input.port) { desk.answer($0) }
    try show(server, desk, on: page)
    try server.end()
  }

  static func run(on page: Page) throws { try run(with: ChapterInput(), on: page) }

  private static func show(_ server: LocalServer, _ desk: Desk, on page: Page) throws {
    let address = { URL(string: server.address($0))! }

    page.section("A download, by hand")
    let byHand = try byHand(address("later"), desk)
    page.claim("start() returned while the download went on", byHand.state == .executing)
    page.claim("it finished when the picture was there", Array(byHand.data) == Desk.picture)

    page.section("On a queue")
    let before = server.sentBytes.value
    let three = try threeAtOnce(["one", "two", "three"].map(address)) {
      let sent = Double(server.sentBytes.value - before)
      page.live(Bars.text([sent / Double(3 * Desk.picture.count)]))
    }
    page.claim(
      "one thread, and three downloads at the same time",
      three.threads == 1 && three.data.allSatisfy { Array($0) == Desk.picture })

    page.section("The same, with await")
    page.claim("65,536 bytes", try byAsync(address("picture")) == Desk.picture.count)

    page.section("Cancelled")
    let cancelled = try cancel(server, desk)
    page.claim("the download without an end ended", cancelled.error != nil)
    page.claim("the server saw that nobody listened any more", cancelled.isGone)
    page.claim(
      "the one behind it never asked the server",
      cancelled.asked == ["endless"] && cancelled.isSecondCancelled)

    page.section("What goes wrong")
    for address in [server.address("nothing"), try addressOfNobody()] {
      page.say(try error(address))
    }
    page.claim(
      "no such page: the operation's error says so",
      try error(server.address("nothing")).hasSuffix(": status 404"))
    page.claim(
      "no such server: so does this one", try error(addressOfNobody()).contains("cannot fetch"))
    page.claim("a port in use: no second server", try secondServer(on: server.port))
  }

  /// Fetches what the reader has named.
  private static func fetch(_ word: String, on page: Page) throws {
    guard let url = URL(string: word), ["http", "https"].contains(url.scheme), url.host != nil
    else { throw ChapterFailure("\(Printable(word)) is not the address of a page", .usage) }
    page.say("asking for \(word), for \(patience) at most")
    let download = Download(url)
    try download.start()
    guard download.wait(for: patience) else { throw lateness(of: download, from: url) }
    if let error = download.error { throw error }
    page.figure("bytes", Figures.grouped(download.data.count))
  }

  /// How long the reader waits for a page that the reader has named.
  static let patience = Duration.seconds(4)

  /// Gives a download up, and tells why.
  static func lateness(of download: Download, from url: URL) -> ChapterFailure {
    download.cancel()
    return ChapterFailure("cannot fetch \(url): it was not there within \(patience)", .noInput)
  }

  /// Whether a second server is refused.
  private static func secondServer(on port: UInt16) throws -> Bool {
    do {
      try LocalServer(port: port) { _ in }.end()
      return false
    } catch let failure as ChapterFailure {
      return failure.description == "cannot listen on port \(port): Address already in use"
    }
  }
}
