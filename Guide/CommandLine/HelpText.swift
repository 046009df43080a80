/// What `--help` prints.
enum HelpText {
  static let guide = """
    The guide to threads in Swift on Linux, in chapters that run.

    usage: guide list                     the chapters
           guide CHAPTER [ARGUMENTS]      run a chapter, by its number or name
           guide generate --stop-times N FOLDER
                                          write a transit feed of any size, to try chapters on
           guide CHAPTER --help           what a chapter takes

    Start with: guide import
    """

  static let list = Chapter.all
    .map { "\($0.number)  \($0.name)  \($0.title)\n   text: \($0.textPath)" }
    .joined(separator: "\n")

  static let importing = """
    Chapter 1: \(Chapter.importing.title)

    usage: guide import [OPTIONS] [FEED]

    FEED is a folder with a GTFS transit feed: stops.txt, routes.txt, trips.txt, stop_times.txt and,
    if there, agency.txt, calendar.txt, calendar_dates.txt. Without it, a small feed that comes with
    the guide is imported. What is in the database already is brought up to date; nothing is deleted.

    options:
    \(table(ImportOptions.syntax))

    exit status:
    \(ExitStatus.allCases.map { "  \(padded(String($0.rawValue), to: 4)) \($0.meaning)" }
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
