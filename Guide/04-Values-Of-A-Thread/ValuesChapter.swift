import Threading

/// Thread dictionaries and thread-local values. `README.md` beside this file explains it.
enum ValuesChapter: Chapter {
  static let number = 4
  static let name = "values"
  static let title = "Values that belong to a thread"
  static let folder = "04-Values-Of-A-Thread"

  static func run(on page: Page) throws {
    page.section("Each thread has its own")
    page.claim("three threads, three dictionaries", try numbersOfThree() == [1, 2, 3])

    page.section("Seen from outside")
    let seen = try progressFromOutside()
    page.claim("the worker's progress was read by another thread: 0.5", seen.before == 0.5)
    page.claim("and is gone when the thread has ended", seen.after == nil)

    page.section("Released with the thread")
    page.claim("the value was released before the join returned", try isReleasedByJoin())

    page.section("A thread-local variable")
    let counts = try countApart(threads: 4, times: 100_000)
    page.claim(
      "four counted to 100,000, each for itself, without a lock",
      counts.allSatisfy { $0 == 100_000 })
    page.claim("a value is made for a thread when it first asks", try madeWhenAsked() == [0, 1, 2])

    page.section("What it costs")
    let costs = costs()
    page.figure("read a thread-local variable", "\(Figures.tenths(costs.local)) ns")
    page.figure("read from the dictionary by a type", "\(Figures.tenths(costs.typed)) ns")
    page.figure("read from the dictionary by a string", "\(Figures.tenths(costs.named)) ns")
  }
}
