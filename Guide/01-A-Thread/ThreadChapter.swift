import ThreadingFoundation

/// A thread, and the value it brings back. `README.md` beside this file explains it.
enum ThreadChapter: Chapter {
  static let number = 1
  static let name = "thread"
  static let title = "A thread, and the value it brings back"
  static let folder = "01-A-Thread"

  static func run(on page: Page) throws {
    page.section("A thread and its value")
    page.claim("1 + 2 + ... + 100 was added up elsewhere: 5050", try sumElsewhere() == 5050)

    page.section("Side by side")
    let end = 40
    // For the eye, slowly; there is nobody to look at what goes into a file.
    let areTogether = try countSideBySide(
      to: end, pace: page.isTerminal ? .milliseconds(15) : .zero
    ) { counts in page.live(Bars.text(counts.map { Double($0) / Double(end) })) }
    page.claim("two threads counted to 40, each while the other did", areTogether)

    page.section("An error comes back, too")
    page.claim(
      "the thread failed, and join() threw its error", errorOf("12a") == .notANumber("12a"))
    page.claim("a good text gives its number", try number("12") == 12)

    page.section("Every thread that joins gets the answer")
    page.claim("two joins, one answer", try joinTwice() == [42, 42])

    page.section("A detached thread brings nothing back")
    page.claim("its message came through the latch", try detached() == "done")

    page.section("Threads and objects")
    page.claim("a subclass, made first and started later: 5050", try sumBySubclass() == 5_050)
    page.claim("an object's method has run on a thread of its own", try fillInBackground())

    page.section("Two families, one vocabulary")
    page.claim("PosixThread: the answer and the name", try named(PosixThread.self) == "adder: 5050")
    page.claim(
      "FoundationThread: the same", try named(FoundationThread.self) == "adder: 5050")

    page.section("A thread that cannot be started says so")
    guard let refusal = refusal() else {
      page.claim("a stack of 1,000 bytes is refused", false)
      return
    }
    page.claim("a stack of 1,000 bytes is refused (\(refusal.codeName))", true)
    page.figure("the message", refusal.message)
  }
}
