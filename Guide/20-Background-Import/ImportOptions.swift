/// What the command line says about an import.
struct ImportOptions: Equatable {
  static let syntax: [ArgumentReader.OptionSyntax] = [
    .init(
      name: "--database", value: "FILE",
      meaning: "the SQLite database (default: NAME-OF-FEED.sqlite, in the current folder)"),
    .init(
      name: "--strict", value: nil,
      meaning: "end at the first problem and undo everything"),
    .init(
      name: "--sqlite-library", value: "FILE",
      meaning: "the SQLite library to load (default: \(SQLiteLibrary.defaultName))"),
    .init(name: "--help", value: nil, meaning: "this text"),
  ]

  /// The folder of the feed; nil for the one that comes with the guide.
  var feed: String?

  /// The database's file; nil for the one named after the feed.
  var database: String?
  var isStrict = false
  var library = SQLiteLibrary.defaultName

  /// The options that `arguments` give.
  ///
  /// - Throws: `UsageError` if they make no sense.
  init(_ arguments: some Sequence<String> = []) throws(UsageError) {
    var reader = ArgumentReader(arguments, of: "import", options: Self.syntax)
    while let argument = try reader.next() {
      switch argument {
      case .option("--database", let value): database = try Self.databasePath(value)
      case .option("--sqlite-library", let value):
        library = try Self.path(value, "--sqlite-library")
      case .flag("--strict"): isStrict = true
      case .word(let word):
        if let feed {
          throw UsageError(
            "import takes one FEED, but was given \(Printable(feed)) and \(Printable(word))")
        }
        feed = try Self.path(word, "FEED")
      case .option, .flag: preconditionFailure("ImportOptions: unhandled option \(argument)")
      }
    }
  }

  private static func databasePath(_ text: String) throws(UsageError) -> String {
    if text == ":memory:" {
      throw UsageError(
        "--database :memory: is no file, and the import needs one: two threads each open it")
    }
    return try path(text, "--database")
  }

  private static func path(_ text: String, _ name: String) throws(UsageError) -> String {
    if text.isEmpty { throw UsageError("\(name) is empty; it must be a path") }
    return text
  }
}
