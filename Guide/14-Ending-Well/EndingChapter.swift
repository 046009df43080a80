import Threading

/// Ending threads, and a whole program. `README.md` beside this file explains it.
enum EndingChapter: Chapter {
  static let number = 14
  static let name = "ending"
  static let title = "Ending well"
  static let folder = "14-Ending-Well"
  static let parts = [
    Part("service") { page in try Service.run(on: page) },
    Part("broken-off") { page in try breakOff(on: page) },
  ]

  static func run(on page: Page) throws {
    page.section("Asked to finish")
    let counted = try countUntilCancelled()
    page.claim(
      "the worker looked, and ended: \"no longer needed\"", counted.reason == "no longer needed")
    page.claim("a sleep of an hour ended at once", try sleepIsCut())
    page.claim("so did a wait for an event", try eventWaitIsCut())
    page.claim("a wait of one's own ended, since the handler woke it", try waitIsCut())

    page.section("What is done at the end")
    page.claim(
      "hooks ran, the last added first, before the join", try hooksAtEnd() == ["files", "network"])

    page.section("A thread that is killed (in a process of its own)")
    if Sanitizer.isAddress {
      page.skip("its lock stays locked, and what it had to tidy up is not")
    } else {
      let killed = try ChildProcess.run("broken-off", of: Self.self)
      page.claim(
        "its lock stays locked, and what it had to tidy up is not",
        killed.output == "  lock is free: false, tidied up: false\n")
    }

    page.section("A program that gets SIGTERM (in a process of its own)")
    let service = try ChildProcess.run("service", of: Self.self)
    for line in service.output.split(separator: "\n") {
      page.say(line.trimmingPrefix("  ").description)
    }
    page.claim("it shut down in order and returned 0", service.status == 0)
  }
}
