import Threading

/// Runs chapters and their solutions, and turns what comes of it into an exit status.
enum ChapterRun {
  static func chapter(
    _ number: Int, with input: ChapterInput = ChapterInput(), on console: Console
  ) -> ExitStatus {
    let chapter = Book.chapter(number)
    console.print("Chapter \(chapter.number): \(chapter.title)\n")
    return run(on: console) { try chapter.run(with: input, on: $0) }
  }

  static func solution(_ index: Int, of number: Int, on console: Console) -> ExitStatus {
    let solution = Book.chapter(number).solutions[index - 1]
    console.print("Chapter \(number), exercise \(index): \(solution.title)\n")
    return run(on: console) { try solution.run($0) }
  }

  static func part(_ name: String, of number: Int, on console: Console) -> ExitStatus {
    let part = Book.chapter(number).parts.first { $0.name == name }
    return run(on: console) { try part?.run($0) }
  }

  /// Runs every chapter, also after one that fails.
  static func all(on console: Console) -> ExitStatus {
    var failed: [Int] = []
    for (index, chapter) in Book.chapters.enumerated() {
      if index > 0 { console.print("\n") }
      if self.chapter(chapter.number, on: console) != .done { failed.append(chapter.number) }
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

  private static func run(on console: Console, _ body: (Page) throws -> Void) -> ExitStatus {
    let page = Page(console)
    do {
      try body(page)
    } catch {
      console.fail("\(error)")
      if let failure = error as? ChapterFailure { return failure.status }
      return error is FileError ? .fileError : .system
    }
    let wrong = page.claims.wrong
    if wrong == 0 { return .done }
    console.fail("\(wrong) of \(page.claims.all) claims did not hold")
    return .wrong
  }
}
