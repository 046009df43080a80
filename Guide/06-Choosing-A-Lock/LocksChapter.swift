import Threading

/// Which lock for what. `README.md` beside this file explains it.
enum LocksChapter: Chapter {
  static let number = 6
  static let name = "locks"
  static let title = "Choosing a lock"
  static let folder = "06-Choosing-A-Lock"
  static let parts = [
    Part("relock") { _ in relock() },
    Part("stranger") { _ in try unlockByStranger() },
  ]

  static func run(on page: Page) throws {
    page.section("A lock has an owner (each mistake in a process of its own)")
    let relock = try ChildProcess.run("relock", of: Self.self)
    page.claim(
      "taken again by its owner: the program stops and says so",
      relock.status == nil && relock.errors.contains("already held by the calling thread"))
    let stranger = try ChildProcess.run("stranger", of: Self.self)
    page.claim(
      "given back by a stranger: the message names both threads",
      stranger.status == nil && stranger.errors.contains("\"owner\"")
        && stranger.errors.contains("\"stranger\""))

    page.section("Again by the same thread")
    page.claim("a recursive lock counts: three deep", recurse() == 3)
    page.claim("an error-checking one refuses: EDEADLK", try errorOfRelocking() == "EDEADLK")

    page.section("Many readers or one writer")
    page.claim("three readers were inside at the same time", try readersMeet())
    page.claim("beside a reader no writer gets in", try !writerGetsInBesideReader())

    page.section("A priority inversion, shown and cured")
    try showInversion(on: page)

    page.section("What they cost, when nobody else wants them")
    for (name, nanoseconds) in try costs() {
      page.figure(name, "\(Figures.tenths(nanoseconds)) ns")
    }
  }
}
