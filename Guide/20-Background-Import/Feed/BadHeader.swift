/// A header line that rows cannot be read by.
struct BadHeader: Error, Equatable {
  let problem: Problem

  init(_ kind: Problem.Kind, _ position: TextPosition, _ reason: String) {
    problem = Problem(kind: kind, position: position, reason: reason)
  }
}
