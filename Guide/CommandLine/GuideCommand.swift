/// What the command line asks for.
enum GuideCommand: Equatable {
  case help
  case list
  case importFeed(ImportOptions)
  case importHelp
  case generate(GenerateOptions)
  case generateHelp

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
      if let extra = rest.first {
        throw UsageError("list takes nothing, but was given \(Printable(extra))")
      }
      return .list
    case "generate":
      if asksForHelp(rest) { return .generateHelp }
      return .generate(try GenerateOptions(rest))
    default:
      return try chapter(word, rest)
    }
  }

  private static func chapter(
    _ word: String, _ rest: ArraySlice<String>
  ) throws(UsageError) -> GuideCommand {
    if word.hasPrefix("-") {
      throw UsageError("unknown option \(Printable(word)); before a chapter there is only --help")
    }
    guard let chapter = Chapter.all.first(where: { $0.isCalled(word) }) else {
      let names = Chapter.all.map { "\($0.number) or \($0.name)" }.joined(separator: ", ")
      throw UsageError(
        "no chapter or command \(Printable(word)); chapters: \(names); commands: list, generate, help"
      )
    }
    switch chapter {
    case .importing:
      if asksForHelp(rest) { return .importHelp }
      return .importFeed(try ImportOptions(rest))
    }
  }

  private static func asksForHelp(_ arguments: ArraySlice<String>) -> Bool {
    arguments.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" }
  }
}
