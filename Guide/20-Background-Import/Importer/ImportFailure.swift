/// Why an import did not come to its end.
enum ImportFailure: Error, Equatable {
  case cancelled

  /// Under `--strict`: the problem for which everything was undone.
  case refused(FileProblem)

  /// The folder is no feed: required files are missing.
  case noFeed([FileProblem])

  case file(FileError)
  case database(DatabaseError)

  /// All was imported, but the main thread could not read all of it for its view.
  case view(DatabaseError)

  /// The failure that an error of one of the import's parts comes to.
  init(_ error: any Error) {
    switch error {
    case let failure as ImportFailure: self = failure
    case let error as FileError: self = .file(error)
    case let error as DatabaseError: self = .database(error)
    default: preconditionFailure("ImportFailure: an error of no known kind: \(error)")
    }
  }
}
