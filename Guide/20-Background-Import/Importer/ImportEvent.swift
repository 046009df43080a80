/// What the importing thread tells while it works. All of it is values: nothing is shared.
enum ImportEvent: Equatable, Sendable {
  /// A file is begun.
  case started(file: String)

  /// Something worth knowing that is no problem: a file or column that the database has no place for.
  case note(String)

  case problem(FileProblem)

  /// Rows that can now be read in the database.
  case batch(Batch)

  /// How much of the feed is read. Told at most once per percent.
  case progress(percent: Int)
}
