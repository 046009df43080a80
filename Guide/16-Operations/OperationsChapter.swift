import Threading

/// Operations, by hand and on a queue. `README.md` beside this file explains it.
enum OperationsChapter: Chapter {
  static let number = 16
  static let name = "operations"
  static let title = "Operations, by hand and on a queue"
  static let folder = "16-Operations"

  static func run(on page: Page) throws {
    page.section("A counting operation, by hand")
    let byHand = try countByHand()
    page.claim(
      "it counted from 3 to 7 on the thread that started it", byHand.numbers == [3, 4, 5, 6, 7])
    page.claim(
      "before, meanwhile, after: pending, executing, finished",
      byHand.states == [.pending, .executing, .finished])
    page.claim("it cannot be started twice", byHand.secondStart == .alreadyUsed)

    page.section("The same on a queue")
    let queued = try countOnQueue()
    page.claim(
      "it counted on a thread of the queue",
      queued.numbers == [3, 4, 5] && queued.thread == "counters")

    page.section("Cancelled while it counts")
    let cancelled = try countUntilCancelled()
    page.claim("it looked, and ended early", cancelled < 1_000_000)

    page.section("Closures, one by one and in a group")
    page.claim("a queue of width 1 keeps the order", try serialQueue() == [1, 2, 3])
    page.claim("three closures of a group ran at the same time", try groupMeets())

    page.section("How far?")
    let percents = try percentsOfCopy()
    page.claim(
      "told: 25, 50, 75, 100 percent", percents.filter { $0 > 0 } == [25, 50, 75, 100])

    page.section("Results")
    page.claim("an operation with a value: 5050", try sumByOperation() == 5_050)
    page.claim("an object's method, called later: 4", try invoke("four") == 4)
    page.claim("its error comes out where the value would", try errorOfInvocation())
  }
}
