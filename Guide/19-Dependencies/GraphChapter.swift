import Threading

/// Operations that wait for each other. `README.md` beside this file explains it.
enum GraphChapter: Chapter {
  static let number = 19
  static let name = "graph"
  static let title = "Dependencies, priorities, barriers"
  static let folder = "19-Dependencies"

  static func run(on page: Page) throws {
    page.section("A graph of operations")
    let built = try buildHouse()
    for line in built.drawing { page.say(line) }
    page.claim("each began when all it waits for had ended", built.isInOrder)
    page.claim("walls and garden were under way at the same time", built.metMeanwhile)

    page.section("A circle is refused")
    page.claim(
      "the call that would close it throws, and names the way round",
      try circle() == "c -> a -> b -> c")

    page.section("When something fails")
    let failed = try failInTheMiddle()
    page.claim("what depends on success is cancelled", failed.strict == "cancelled")
    page.claim("what only waits for the end runs", failed.loose == "completed")

    page.section("Priorities")
    page.claim(
      "urgent first, then normal in order, then low",
      try priorities() == ["urgent", "normal 1", "normal 2", "low"])

    page.section("A barrier")
    page.claim(
      "readers, then the writer alone, then readers", try barrier() == ["reads", "write", "reads"])

    page.section("A queue that is held")
    page.claim("suspended: nothing starts; resumed: all of it", try suspended() == [0, 3])
    page.claim("cancelled: three have finished, none has run", try cancelledAll() == [3, 0])
  }
}
