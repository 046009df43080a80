/// Why something could not be written to standard output.
struct OutputProblem: Equatable, Sendable {
  /// The system's reason.
  let reason: String

  /// Whether the reader has gone. That is how a reader says that it has enough, and nobody is told.
  let isReaderGone: Bool
}
