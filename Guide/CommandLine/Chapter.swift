/// A chapter of the book.
enum Chapter: CaseIterable, Sendable {
  case importing

  /// All chapters, in the order of reading.
  static var all: [Chapter] { Array(allCases) }

  var number: Int {
    switch self {
    case .importing: 1
    }
  }

  /// What it is called on the command line, beside its number.
  var name: String {
    switch self {
    case .importing: "import"
    }
  }

  var title: String {
    switch self {
    case .importing: "Import a large data set and stay responsive"
    }
  }

  /// Where the text stands, from the package's folder.
  var textPath: String {
    switch self {
    case .importing: "Guide/Import/README.md"
    }
  }

  /// Whether a word of the command line means this chapter.
  func isCalled(_ word: String) -> Bool { word == name || word == String(number) }
}
