/// What `--help` prints.
enum HelpText {
  static let guide = """
    The guide to threads in Swift on Linux, in chapters that run.

    usage: guide list                     the chapters
           guide run CHAPTER              run a chapter, by its number or name; "run" may be left out
           guide CHAPTER --explain        print its text
           guide CHAPTER --solution K     run the solution of its exercise K
           guide CHAPTER [--port P] [INPUT]
                                          run it with what you give it; its text tells what that may be
           guide all                      run every chapter
           guide check [--write]          compare the code in the texts with the source, or put it there
           guide articles FOLDER          write the texts as articles into the documentation's catalogue
           guide generate --stop-times N FOLDER
                                          write a transit feed of any size, to try chapters on
           guide import --help            what the background import takes

    Start with: guide 1 --explain
    """

  static let list = Book.chapters
    .map { chapter in
      padded("\(chapter.number)", to: 4) + padded(chapter.name, to: 12) + chapter.title
        + "\n    text: \(chapter.textPath)"
    }
    .joined(separator: "\n")

  static let importing = """
    Chapter \(ImportChapter.number): \(ImportChapter.title)

    usage: guide import [OPTIONS] [FEED]
           guide import --solution K      run the solution of the chapter's exercise K

    FEED is a folder with a GTFS transit feed: stops.txt, routes.txt, trips.txt, stop_times.txt and,
    if there, agency.txt, calendar.txt, calendar_dates.txt. Without it, a small feed that comes with
    the guide is imported. What is in the database already is brought up to date; nothing is deleted.

    options:
    \(table(ImportOptions.syntax))

    exit status:
    \(ExitStatus.ofImport.map { "  \(padded(String($0.rawValue), to: 4)) \($0.meaning)" }
      .joined(separator: "\n"))
    """

  static let generating = """
    Writes a made-up transit feed that is valid, the same for the same size, and quick to write.

    usage: guide generate --stop-times N FOLDER

    FOLDER is made, and must not be there before.

    options:
    \(table(GenerateOptions.syntax))
    """

  private static func table(_ options: [ArgumentReader.OptionSyntax]) -> String {
    options
      .map { "  \(padded("\($0.name) \($0.value ?? "")", to: 22)) \($0.meaning)" }
      .joined(separator: "\n")
  }

  private static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
