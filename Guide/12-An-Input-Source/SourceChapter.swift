import Threading

/// An input source of one's own. `README.md` beside this file explains it.
enum SourceChapter: Chapter {
  static let number = 12
  static let name = "source"
  static let title = "An input source of your own"
  static let folder = "12-An-Input-Source"

  static func run(on page: Page) throws {
    page.section("A command queue into a worker thread")
    let story = try sendCommands()
    for line in story.lines { page.say(line) }
    page.claim("the client heard of the source when it was on the loop", story.wasRegistered)
    page.claim("three commands, one call of the handler", story.batches == [3, 1])
    page.claim("the client heard that it was taken off", story.wasRemoved)

    page.section("The exit flag, as the classic listing has it")
    let classic = try exitByDictionary()
    page.claim("the worker stopped between two chunks of work", classic.isBetween)
    page.claim("and did not come to the end of its work", classic.chunks < 1_000)
    page.figure("chunks done", classic.chunks)

    page.section("The same today")
    let modern = try exitByCancelling()
    page.claim("the worker stopped when it was cancelled", modern < 1_000)
    page.figure("chunks done", modern)

    page.section("The same as a mailbox")
    page.claim(
      "commands with types, in order; a question is answered", try mailbox() == "3 4 5, sum 12")
  }
}
