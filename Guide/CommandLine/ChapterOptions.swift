/// What the command line says behind a chapter.
struct ChapterOptions {
  static let syntax: [ArgumentReader.OptionSyntax] = [
    .init(name: "--explain", value: nil, meaning: "print the chapter's text"),
    .init(name: "--solution", value: "K", meaning: "run the solution of an exercise"),
    .init(name: "--part", value: "NAME", meaning: "what a chapter runs in a process of its own"),
    .init(name: "--port", value: "P", meaning: "where the chapter's web server listens"),
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
    var input: ChapterInput?
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
      case .option("--port", let value):
        guard chapter.hasServer else {
          throw UsageError("chapter \(number) has no web server, and takes no --port")
        }
        guard let port = UInt16(value), port > 0 else {
          throw UsageError("--port \(Printable(value)) is not a number in 1...65535")
        }
        if input?.port ?? 0 != 0 {
          throw UsageError(
            "chapter \(number) has one server, but was given a second --port: \(port)")
        }
        input = input ?? ChapterInput()
        input?.port = port
      case .word(let word):
        guard let name = chapter.word else {
          throw UsageError(
            "chapter \(number) takes options alone, but was given \(Printable(word))")
        }
        guard input?.word == nil else {
          throw UsageError(
            "chapter \(number) takes one \(name), but was given \(Printable(word)), too")
        }
        guard !word.isEmpty else { throw UsageError("\(name) is empty") }
        input = input ?? ChapterInput()
        input?.word = word
      case .option, .flag: preconditionFailure("ChapterOptions: unhandled option \(argument)")
      }
    }
    if let input {
      guard command == .run(number), given <= 2 else {
        throw UsageError("chapter \(number) takes what it is given alone, without other options")
      }
      command = .run(number, with: input)
    } else if given > 1 {
      throw UsageError("chapter \(number) takes one option at a time")
    }
  }
}
