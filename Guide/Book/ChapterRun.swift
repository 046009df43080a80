import Threading

/// Runs chapters and their solutions, and turns what comes of it into an exit status.
enum ChapterRun {
  static func chapter(
    _ number: Int, with input: ChapterInput = ChapterInput(), on console: Console
  ) -> ExitStatus {
    let chapter = Book.chapter(number)
    console.print("Chapter \(chapter.number): \(chapter.title)\n")
    return run("chapter \(number)", on: console) { page in
      try check(chapter)
      try chapter.run(with: input, on: page)
    }
  }

  static func solution(_ index: Int, of number: Int, on console: Console) -> ExitStatus {
    let chapter = Book.chapter(number)
    let solution = chapter.solutions[index - 1]
    console.print("Chapter \(number), exercise \(index): \(solution.title)\n")
    return run("chapter \(number), exercise \(index)", on: console) { page in
      try check(chapter)
      try solution.run(page)
    }
  }

  static func part(_ name: String, of number: Int, on console: Console) -> ExitStatus {
    let part = Book.chapter(number).parts.first { $0.name == name }
    return run("chapter \(number), \(name)", on: console) { try part?.run($0) }
  }

  private static func check(_ chapter: any Chapter.Type) throws(ChapterFailure) {
    try Room.check(threads: chapter.threads)
    try Room.check(descriptors: chapter.descriptors)
  }

  /// Runs every chapter, also after one that fails.
  static func all(on console: Console) -> ExitStatus {
    var failed: [Int] = []
    for (index, chapter) in Book.chapters.enumerated() {
      if index > 0 { console.print("\n") }
      if self.chapter(chapter.number, on: console) != .done { failed.append(chapter.number) }
      // Nobody reads on.
      if console.problem() != nil { break }
    }
    if failed.isEmpty { return .done }
    console.fail("failed: chapter \(failed.map(String.init).joined(separator: ", "))")
    return .wrong
  }

  static func explain(_ number: Int, on console: Console) -> ExitStatus {
    do throws(FileError) {
      let text = try TextCheck.text(of: Book.chapter(number))
      console.print(text.forTerminal(coloured: console.isTerminal))
      return .done
    } catch {
      console.fail(error)
      return .noInput
    }
  }

  private static func run(
    _ what: String, on console: Console, _ body: (Page) throws -> Void
  ) -> ExitStatus {
    let page = Page(console)
    do {
      try body(page)
    } catch {
      let report = FailureReport(error)
      page.eraseLive()
      console.fail("\(what): \(report.reason)")
      return report.status
    }
    let wrong = page.claims.wrong
    if wrong == 0 { return .done }
    console.fail("\(what): \(wrong) of \(page.claims.all) claims did not hold")
    return .wrong
  }
}
