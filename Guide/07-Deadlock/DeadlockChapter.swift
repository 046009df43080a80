import Threading

/// Deadlock, and how not to get there. `README.md` beside this file explains it.
enum DeadlockChapter: Chapter {
  static let number = 7
  static let name = "deadlock"
  static let title = "Deadlock"
  static let folder = "07-Deadlock"

  static func run(on page: Page) throws {
    page.section("Two threads, two locks, two orders")
    let story = Timeline()
    let embrace = try embrace(story)
    page.draw(story.rows(["one", "other"]))
    page.claim("each has one lock and cannot get the other", embrace == [false, false])

    page.section("Always the same order")
    page.claim("4,000 transfers both ways, and no deadlock", try transferInOrder() == 2_000)

    page.section("Try, and go back")
    let polite = try transferPolitely()
    page.claim("4,000 transfers with tries, and no deadlock", polite.total == 2_000)
    page.figure("went back and tried again", "\(polite.retries) times")

    page.section("Not for longer than this")
    let timed = try waitAtMost(.milliseconds(30))
    page.claim("the lock was not to be had, and the caller was told", !timed.hadLock)
    page.claim("after the time that was given, never before", timed.waited >= .milliseconds(30))

    page.section("Threads that wait for each other's end")
    page.claim(
      "the join that would close the circle is refused: EDEADLK", try joinCircle() == "EDEADLK")
    page.claim("so is a join of oneself", try joinOneself() == "EDEADLK")
  }
}
