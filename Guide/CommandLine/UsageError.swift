/// The command line asks for something that there is not.
struct UsageError: Error, Equatable, CustomStringConvertible {
  /// One line that names what was given and what is allowed.
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
