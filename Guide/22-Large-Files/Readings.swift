/// Files of readings, made up: a number and some text in each line, which has 64 bytes.
enum Readings {
  static let lineLength = 64

  /// The numbers go from 0 up to this, again and again.
  static let numbers = 500

  /// Writes a file, in constant memory.
  ///
  /// - Parameters:
  ///   - rounds: how often the numbers are gone through.
  ///   - path: where the file is to be.
  /// - Returns: what is in it.
  /// - Throws: `FileError` if the system refuses.
  static func write(rounds: Int, to path: String) throws(FileError) -> Tally {
    let file = try OutputFile(path: path)
    let round = Array((0..<numbers).map(line).joined().utf8)
    for _ in 0..<rounds { try file.write(round) }
    try file.finish()
    var tally = Tally()
    tally.lines = rounds * numbers
    tally.total = rounds * numbers * (numbers - 1) / 2
    return tally
  }

  private static func line(_ number: Int) -> String {
    let text = "\(number) is what sensor \(number % 7) has measured "
    return text + String(repeating: ".", count: lineLength - 1 - text.utf8.count) + "\n"
  }
}
