import Threading

/// Semaphores, latches and barriers. `README.md` beside this file explains it.
enum MeetingChapter: Chapter {
  static let number = 9
  static let name = "meeting"
  static let title = "Semaphores, latches, barriers"
  static let folder = "09-Meeting-Points"

  static func run(on page: Page) throws {
    page.section("A semaphore: only so many at once")
    page.claim("eight threads, two permits: never more than two inside", try mostInside() == 2)

    page.section("A latch: go on when all are there")
    page.claim("the gate opened when the third had come", try gateOpensLast() == [3, 2, 1, 0])

    page.section("A barrier: a picture, blurred by three threads")
    let picture = Picture.drawn(width: 320, height: 200)
    let alone = try picture.blurred(passes: 6, threads: 1) { _ in }
    let together = try picture.blurred(passes: 6, threads: 3) { page.live(Bars.text($0)) }
    page.claim("three threads make the picture that one makes", alone == together)
    page.claim("it is another one than before", picture != together)
    let file = try TemporaryFolder.kept("blurred.bmp")
    try together.write(to: file)
    page.figure("look at it", file)

    page.section("A phaser: those who are through may leave")
    page.claim("three, two, one at the meetings", try leaveOneByOne() == [3, 2, 1])
  }
}
