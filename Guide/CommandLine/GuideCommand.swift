/// What the command line asks for.
enum GuideCommand: Equatable {
  case help
  case list
  case importFeed(ImportOptions)
  case importHelp
  case generate(GenerateOptions)
  case generateHelp

  /// Run every chapter.
  case all

  /// Compare the code in the texts with the source, or first put it there.
  case check(writing: Bool)

  /// Write the chapters as articles into a catalogue of the documentation.
  case articles(catalogue: String)

  /// Run a chapter, print its text, or run one of its solutions (from 1) or parts.
  case run(Int, with: ChapterInput = ChapterInput())
  case explain(Int)
  case solution(Int, of: Int)
  case part(String, of: Int)

  /// Reads the command line, without the program's name.
  ///
  /// - Throws: `UsageError` if it makes no sense.
  static func parse(_ arguments: [String]) throws(UsageError) -> GuideCommand {
    guard let word = arguments.first else { return .help }
    let rest = arguments.dropFirst()
    switch word {
    case "help", "--help", "-h":
      return .help
    case "list":
      try refuseMore(rest, word)
      return .list
    case "all":
      try refuseMore(rest, word)
      return .all
    case "check":
      if rest == ["--write"] { return .check(writing: true) }
      try refuseMore(rest, word, but: "--write")
      return .check(writing: false)
    case "articles":
      guard let folder = rest.first, !folder.isEmpty, !folder.hasPrefix("-") else {
        throw UsageError("articles needs a FOLDER: the documentation's catalogue")
      }
      try refuseMore(rest.dropFirst(), word, but: "FOLDER")
      return .articles(catalogue: folder)
    case "generate":
      if asksForHelp(rest) { return .generateHelp }
      return .generate(try GenerateOptions(rest))
    case "run":
      guard let chapter = rest.first else {
        throw UsageError("run needs a chapter: \(Book.numbers), or a name that guide list tells")
      }
      return try self.chapter(chapter, rest.dropFirst())
    default:
      return try chapter(word, rest)
    }
  }

  private static func refuseMore(
    _ rest: ArraySlice<String>, _ word: String, but option: String? = nil
  ) throws(UsageError) {
    guard let extra = rest.first else { return }
    throw UsageError(
      "\(word) takes nothing\(option.map { " but \($0)" } ?? ""), but was given \(Printable(extra))"
    )
  }

  private static func chapter(
    _ word: String, _ rest: ArraySlice<String>
  ) throws(UsageError) -> GuideCommand {
    if word.hasPrefix("-") {
      throw UsageError("unknown option \(Printable(word)); before a chapter there is only --help")
    }
    guard let chapter = Book.chapter(word) else {
      throw UsageError(
        "no chapter or command \(Printable(word)); chapters: \(Book.numbers), or their names; "
          + "commands: list, run, all, check, articles, generate, help")
    }
    if rest == ["--explain"] { return .explain(chapter.number) }
    if chapter == ImportChapter.self {
      if asksForHelp(rest) { return .importHelp }
      if let word = rest.first, word == "--solution" || word.hasPrefix("--solution=") {
        return try ChapterOptions(rest, of: chapter).command
      }
      return .importFeed(try ImportOptions(rest))
    }
    return try ChapterOptions(rest, of: chapter).command
  }

  private static func asksForHelp(_ arguments: ArraySlice<String>) -> Bool {
    arguments.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
  }
}
