/// What the command line says behind a chapter.
struct ChapterOptions {
  static let syntax: [ArgumentReader.OptionSyntax] = [
    .init(name: "--explain", value: nil, meaning: "print the chapter's text"),
    .init(name: "--solution", value: "K", meaning: "run the solution of an exercise"),
    .init(name: "--part", value: "NAME", meaning: "what a chapter runs in a process of its own"),
    .init(name: "--help", value: nil, meaning: "what there is"),
  ]

  /// What is to be done.
  private(set) var command: GuideCommand

  /// The options that `arguments` give.
  ///
  /// - Throws: `UsageError` if they make no sense.
  init(
    _ arguments: some Sequence<String>, of chapter: any Chapter.Type
  ) throws(UsageError) {
    let number = chapter.number
    command = .run(number)
    var given = 0
    var reader = ArgumentReader(arguments, of: "chapter \(number)", options: Self.syntax)
    while let argument = try reader.next() {
      given += 1
      switch argument {
      case .flag("--explain"): command = .explain(number)
      case .flag("--help"): command = .help
      case .option("--solution", let value):
        let count = chapter.solutions.count
        guard let index = Int(value), index >= 1, index <= count else {
          throw UsageError(
            "--solution \(Printable(value)) is not a number in 1...\(count), the exercises of "
              + "chapter \(number)")
        }
        command = .solution(index, of: number)
      case .option("--part", let value):
        guard chapter.parts.contains(where: { $0.name == value }) else {
          let names = chapter.parts.map(\.name).joined(separator: ", ")
          throw UsageError(
            "chapter \(number) has no part \(Printable(value)); its parts: "
              + (names.isEmpty ? "none" : names))
        }
        command = .part(value, of: number)
      case .word(let word):
        throw UsageError(
          "chapter \(number) takes options alone, but was given \(Printable(word))")
      case .option, .flag: preconditionFailure("ChapterOptions: unhandled option \(argument)")
      }
    }
    if given > 1 { throw UsageError("chapter \(number) takes one option at a time") }
  }
}
