/// What the reader may give a chapter on the command line, in place of what it uses by itself.
struct ChapterInput: Equatable, Sendable {
  /// An address or a file.
  var word: String?

  /// Where the chapter's web server listens.
  var port: UInt16 = 0
}
