/// What the command line says about a feed to be written.
struct GenerateOptions: Equatable {
  static let syntax: [ArgumentReader.OptionSyntax] = [
    .init(
      name: "--stop-times", value: "N",
      meaning: "how many rows stop_times.txt is to have, 1...\(maximum)"),
    .init(name: "--help", value: nil, meaning: "this text"),
  ]

  /// The most stop times that can be asked for: a file of some 4 GB.
  static let maximum = 100_000_000

  let stopTimes: Int
  let folder: String

  /// The options that `arguments` give.
  ///
  /// - Throws: `UsageError` if they make no sense.
  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var reader = ArgumentReader(arguments, of: "generate", options: Self.syntax)
    var stopTimes: Int?
    var folder: String?
    while let argument = try reader.next() {
      switch argument {
      case .option("--stop-times", let value):
        guard let number = Int(value), (1...Self.maximum).contains(number) else {
          throw UsageError(
            "--stop-times \(Printable(value)) is not a number in 1...\(Self.maximum)")
        }
        stopTimes = number
      case .word(let word):
        if let folder {
          throw UsageError(
            "generate takes one FOLDER, but was given \(Printable(folder)) and \(Printable(word))")
        }
        folder = word
      case .option, .flag: preconditionFailure("GenerateOptions: unhandled option \(argument)")
      }
    }
    guard let stopTimes else { throw UsageError("generate needs --stop-times N") }
    guard let folder, !folder.isEmpty else { throw UsageError("generate needs a FOLDER") }
    self.stopTimes = stopTimes
    self.folder = folder
  }
}
