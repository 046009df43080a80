import Threading

/// Ways for threads and processes to talk. `README.md` beside this file explains it.
enum TalkingChapter: Chapter {
  static let number = 13
  static let name = "talking"
  static let title = "Talking between threads"
  static let folder = "13-Talking"
  static let parts = [Part("reporter") { _ in try report() }]

  static func run(on page: Page) throws {
    page.section("A mailbox with a bound")
    let bounded = try fillMailbox()
    page.claim(
      "two places: the third message was refused", bounded.results == [.sent, .sent, .full])
    page.claim("a sender that waits gets in when there is room", bounded.waited == .sent)
    page.claim("all three were handled, in order", bounded.handled == [1, 2, 3])

    page.section("A pipe")
    page.claim("three lines and the end", try readPipe() == ["one", "two", "three", "(end)"])

    page.section("The same in a task")
    page.claim("three lines", try readInTask() == ["one", "two", "three"])

    page.section("A pair of sockets")
    page.claim("the worker answered: HELLO", try askOverSockets("hello") == "HELLO")

    page.section("A child process")
    let child = try listenToChild()
    page.claim(
      "its lines were read while it ran", child.lines == ["from the child", "and once more"])
    page.claim("it returned 3, as the loop was told", child.ending == .exited(code: 3))

    page.section("Whole messages")
    page.claim(
      "over a socket: one, two, three", try messagesOfSocket() == ["one", "two", "three"])
    let urgent = "from a child process, by a queue with a name: the urgent one first"
    if let heard = try hearChild() {
      page.claim(urgent, heard == ["the disk is full", "half of it is done"])
    } else {
      page.skip(urgent)
    }

    page.section("Files that change")
    page.claim("two were written", try namesOfWrittenFiles() == ["first", "second"])

    page.section("There and back")
    let times = try roundTrips()
    page.figure("an answer from a block", "\(Figures.tenths(times.perform)) us")
    page.figure("an answer from a mailbox", "\(Figures.tenths(times.mailbox)) us")
    page.figure("an answer over a pair of sockets", "\(Figures.tenths(times.sockets)) us")
  }
}
