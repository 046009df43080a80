import Threading

/// Actors and tasks on a thread of one's own. `README.md` beside this file explains it.
enum ActorsChapter: Chapter {
  static let number = 24
  static let name = "actors"
  static let title = "Actors and tasks on a thread of your own"
  static let folder = "24-Actors-On-A-Thread"

  static func run(on page: Page) throws {
    page.section("An actor on a thread")
    let visited = try callActor(times: 100)
    page.claim("100 calls, one thread, the one with the loop", visited.threads == [visited.home])
    page.claim("and not one of them was lost: 100", visited.count == 100)

    page.section("A task on a thread")
    let task = try runTask()
    page.claim(
      "before and after an await it was on the same thread", task.threads == [task.home, task.home])

    page.section("Between both worlds")
    page.claim("a plain thread waited for asynchronous code: 42", try waitForAsync { 42 } == 42)
    page.claim("asynchronous code waited for a thread: 5050", try sumForAsync() == 5_050)
    page.claim("an operation with an await inside: done", try asyncOperation())

    page.section("The main actor")
    page.claim("the main thread's loop runs the main actor", mainActorRuns())
  }
}
