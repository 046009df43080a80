import Threading

/// Finding out what threads are doing. `README.md` beside this file explains it.
enum TroubleChapter: Chapter {
  static let number = 25
  static let name = "trouble"
  static let title = "Finding trouble"
  static let folder = "25-Finding-Trouble"
  static let parts = [Part("relock") { _ in relock() }]

  static func run(on page: Page) throws {
    page.section("What are my threads doing?")
    let dump = try dumpOfThree()
    for line in dump.lines { page.say(line) }
    page.claim("two sleep, one runs", dump.isRight)

    page.section("Where in the code?")
    let aboutCalls = "the calls of a thread that waits were found"
    if let calls = try callsOfWaiter() {
      page.claim(aboutCalls, !calls.isEmpty)
      page.figure("in", calls.compactMap(\.symbol).first ?? "code without names")
    } else {
      page.skip(aboutCalls)
      page.figure("in", "no answer")
    }

    page.section("Who uses the processor?")
    let times = try processorTimes()
    page.claim("the busy thread, not the sleepy one", times.busy > times.sleepy)
    page.figure("busy", Figures.milliseconds(times.busy))
    page.figure("sleepy", Figures.milliseconds(times.sleepy))

    page.section("Who holds up my loop?")
    let stall = try stallOfLoop()
    page.claim("a timer did, and was reported while it did", stall.activity == .timer)
    page.figure("reported after", Figures.milliseconds(stall.duration))

    page.section("Who ran what, and when?")
    let trace = try traceOfThree()
    let merge = trace.records.first { $0.name == "merge" }
    page.claim("three operations were recorded", trace.records.count == 3)
    page.claim("the third waited for the other two", merge?.dependencies.count == 2)
    page.figure("for", Figures.milliseconds(merge?.waited ?? .zero))
    let path = try write(trace)
    page.claim(
      "the file has a slice for each",
      try slices(in: path).sorted() == ["merge", "read left", "read right"])
    page.figure("open it in a viewer", path)

    page.section("Which lock was it? (in a process of its own)")
    let bug = try ChildProcess.run("relock", of: Self.self)
    page.claim("the message has the lock's own name", bug.errors.contains("the list of guests"))
  }
}
