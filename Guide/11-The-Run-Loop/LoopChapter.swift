import Threading

/// The run loop, step by step. `README.md` beside this file explains it.
enum LoopChapter: Chapter {
  static let number = 11
  static let name = "loop"
  static let title = "The run loop, step by step"
  static let folder = "11-The-Run-Loop"

  static func run(on page: Page) throws {
    page.section("One pass")
    let pass = try onLoop(onePass)
    page.say(pass.joined(separator: ", "))
    page.claim(
      "blocks, then sources, then timers",
      pass.filter { ["block", "source", "timer"].contains($0) } == ["block", "source", "timer"])

    page.section("A pass that sleeps")
    let sleepy = try onLoop(sleepyPass)
    page.say(sleepy.joined(separator: ", "))
    page.claim(
      "it told that it would sleep, and that it was awake",
      sleepy.contains(["before waiting", "after waiting", "timer"]))

    page.section("Why a run ends")
    page.claim(
      "five reasons were seen",
      try onLoop(reasons) == [
        .finished, .stopped, .timedOut, .handledSource, .flagSet,
      ])

    page.section("Modes")
    page.claim(
      "what was posted for another mode waited for it",
      try onLoop(modes) == ["default", "resizing"])

    page.section("Timers")
    let ticks = try onLoop(ticks)
    page.claim("every firing was on the grid of 5 ms, none was early", ticks.areOnGrid)
    page.claim(
      "after 30 ms of other work, the timer told how many it had missed", ticks.missed >= 4)
    page.figure("the latest firing was late by", Figures.milliseconds(ticks.latest))

    page.section("Work from other threads")
    page.claim("1,000 blocks, in the order of posting", try blocksInOrder() == Array(1...1_000))
    page.claim("the answer of a block came back: 42", try answerOfLoop() == 42)

    page.section("When there is nothing else to do")
    page.claim(
      "asked for ten times, done once, and last", try onLoop(idle) == ["block", "idle 10"])
  }

  // snippet: onloop
  /// Runs a function on a new thread, with the run loop of that thread.
  static func onLoop<Output: Sendable>(
    _ body: @escaping @Sendable (ThreadRunLoop) throws -> Output
  ) throws -> Output {
    try PosixThread.start { try body(ThreadRunLoop.current) }.join()
  }
  // end
}
