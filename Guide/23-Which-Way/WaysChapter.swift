import Foundation
import Threading

/// The same job five ways. `README.md` beside this file explains it.
enum WaysChapter: Chapter {
  static let number = 23
  static let name = "ways"
  static let title = "Queues, pools, Dispatch or async/await"
  static let folder = "23-Which-Way"

  static func run(on page: Page) throws {
    page.section("The same job, five ways")
    let costs = try costs()
    page.claim("all came to the same sum", costs.allSatisfy { $0.sum == 499_500 })
    for cost in costs {
      page.figure(
        cost.name,
        "\(Figures.tenths(cost.small)) us a piece with nothing to do, "
          + "\(Figures.tenths(cost.large)) us one with some work")
    }

    page.section("Pieces that wait: eight that block until all eight are there")
    let enough = Duration.seconds(20)
    page.claim(
      "a thread for each: all were there", try mostInside(threadForEach, patience: enough) == party)
    page.claim(
      "a queue of width eight: all were there",
      try mostInside(queueOfWidth, patience: enough) == party)
    page.figure("Dispatch: at once", try mostInside(byDispatch))
    let tasks = try mostInside { count, piece in
      try ActorsChapter.waitForAsync { await byTasks(count, piece) }
    }
    page.figure("tasks that block: at once", tasks)
    page.claim("tasks that await: all were there", try mostAwaiting() == party)

    page.section("Who keeps a value")
    page.claim("a lock: 1,000 steps counted", countByLock() == steps)
    page.claim("a queue of width 1: 1,000 steps counted", try countByQueue() == steps)
    page.claim("an actor: 1,000 steps counted", try countByActor() == steps)

    page.section("A loop in strides")
    let sums = strides(10_000, of: 64)
    page.claim(
      "both ways came to the same sum", sums.ours == 49_995_000 && sums.dispatch == sums.ours)
  }
}
