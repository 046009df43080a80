/// `guide check`: compares the code that the texts show with the source.
enum TextCheck {
  /// Checks every chapter, or first puts the snippets into the texts.
  ///
  /// - Returns: what the process shall end with.
  static func run(writing: Bool, on console: Console) -> ExitStatus {
    do throws(FileError) {
      var problems: [String] = []
      for chapter in Book.chapters {
        var text = try text(of: chapter)
        let snippets = try snippets(of: chapter)
        if writing {
          let before = text.text
          text.update(snippets)
          if text.text != before { try write(text) }
        }
        problems += text.problems(snippets)
      }
      for problem in problems { console.complain(problem) }
      if problems.isEmpty {
        console.print("the code in the texts is that of the source\n")
        return .done
      }
      if !writing { console.printError("guide check --write puts snippets into the texts\n") }
      return .badData
    } catch {
      console.fail(error)
      return error.status
    }
  }

  static func text(of chapter: any Chapter.Type) throws(FileError) -> ChapterText {
    let file = "\(chapter.folder)/README.md"
    return ChapterText(try GuideFolder.text(file), file: file)
  }

  static func snippets(of chapter: any Chapter.Type) throws(FileError) -> Snippets {
    var snippets = Snippets()
    for file in GuideFolder.sources(of: chapter) {
      snippets.add(try GuideFolder.text(file), file: file)
    }
    return snippets
  }

  private static func write(_ text: ChapterText) throws(FileError) {
    let file = try OutputFile(path: "\(GuideFolder.path)/\(text.file)", replaces: true)
    try file.write(text.text)
    try file.finish()
  }
}
