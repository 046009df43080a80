/// Something wrong with the text of a feed: what, where and why.
///
/// Problems are data and not thrown errors: a large feed may hold thousands, and the import goes on.
struct Problem: Equatable, Sendable {
  /// The sorts of problem, so that they can be counted.
  enum Kind: String, CaseIterable, Sendable {
    case missingFile = "missing file"
    case missingColumn = "missing column"
    case unusableHeader = "unusable header"
    case wrongFieldCount = "wrong number of fields"
    case invalidUTF8 = "invalid UTF-8"
    case unterminatedQuote = "unterminated quote"
    case bytesAfterQuote = "bytes after a closing quote"
    case recordTooLong = "record too long"
    case badValue = "bad value"
    case missingValue = "missing value"
    case duplicateKey = "duplicate key"
  }

  let kind: Kind
  let position: TextPosition

  /// One line for people, without the place.
  let reason: String
}
