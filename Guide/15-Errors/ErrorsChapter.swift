import Threading

/// Errors across threads. `README.md` beside this file explains it.
enum ErrorsChapter: Chapter {
  static let number = 15
  static let name = "errors"
  static let title = "Errors across threads"
  static let folder = "15-Errors"
  static let parts = [
    Part("join-unstarted") { page in
      do throws(ThreadingError) {
        try PosixThread { 42 }.join()
      } catch {
        page.say("\(error)")
      }
    },
    Part("start-twice") { _ in
      let thread = PosixThread { 42 }
      try thread.start()
      try thread.start()
    },
  ]

  static func run(on page: Page) throws {
    page.section("Out of a thread")
    page.claim("the error has its type: line 2 is bad", try firstBadLine("1\nx\n3") == 2)
    page.claim("no bad line, no error", try firstBadLine("1\n2") == nil)

    page.section("Out of a group of threads")
    let group = try failInGroup()
    page.claim("the group threw the first error", group.error == .badLine(7))
    page.claim("the others were cancelled, and told why", group.wasCancelled)

    page.section("Out of a block on a loop, and of a question")
    page.claim("performAndWait threw what the block threw", try errorOfBlock() == .badLine(3))
    page.claim("a question without an answer: ECANCELED", try errorOfQuestion() == "ECANCELED")

    page.section("Where nobody joins")
    page.claim("a detached thread handed its error to a handler", try reported() == "badLine(9)")

    page.section("Three kinds of failure")
    page.claim("timed out: an answer, nil", try answerOfTimeout() == nil)
    let refused = try ChildProcess.run("join-unstarted", of: Self.self)
    page.claim("refused: an error that names call and reason", refused.output.contains("ESRCH"))
    let bug = try ChildProcess.run("start-twice", of: Self.self)
    page.claim(
      "a bug: the program stops, with a message",
      bug.status == nil && bug.errors.contains("PosixThread"))
  }

  enum ReadingError: Error, Equatable {
    case badLine(Int)
  }
}
