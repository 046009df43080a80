/// What stops a chapter, and what the process ends with then.
struct ChapterFailure: Error, Equatable, CustomStringConvertible {
  /// One line that says what was tried and why it failed.
  let description: String
  let status: ExitStatus

  init(_ description: String, _ status: ExitStatus) {
    self.description = description
    self.status = status
  }
}
