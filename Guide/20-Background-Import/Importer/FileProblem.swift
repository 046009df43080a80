/// A problem and the file it is in, written as compilers do: `stops.txt:12:5: bad value: ...`.
struct FileProblem: Equatable, Sendable, CustomStringConvertible {
  let file: String
  let problem: Problem

  var description: String {
    let position = problem.position
    return
      "\(file):\(position.line):\(position.column): \(problem.kind.rawValue): \(problem.reason)"
  }
}
