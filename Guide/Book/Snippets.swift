/// The pieces of a chapter's source that its text shows.
///
/// In the source, a piece stands between two marks. It is shown without what all its lines are
/// indented by:
///
///     // snippet: start
///     let thread = try PosixThread.start { 42 }
///     // end
struct Snippets {
  /// The lines of each piece, by its name.
  private(set) var pieces: [String: [String]] = [:]

  /// What is wrong with the marks, one line each.
  private(set) var problems: [String] = []

  /// Takes up the pieces of one file.
  mutating func add(_ text: String, file: String) {
    var name: String?
    var lines: [Substring] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let bare = line.drop { $0 == " " }
      let place = "\(file):\(index + 1)"
      if bare.hasPrefix("// snippet: ") {
        if let name { problems.append("\(place): the snippet \(name) has no end before this one") }
        name = String(bare.dropFirst("// snippet: ".count))
        lines = []
      } else if bare == "// end" {
        if let name {
          if pieces[name] != nil { problems.append("\(place): there is another snippet \(name)") }
          pieces[name] = Self.withoutIndent(lines)
        } else {
          problems.append("\(place): an end without a snippet")
        }
        name = nil
      } else if name != nil {
        lines.append(line)
      }
    }
    if let name { problems.append("\(file): the snippet \(name) has no end") }
  }

  private static func withoutIndent(_ lines: [Substring]) -> [String] {
    let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    return lines.map { String($0.dropFirst(indent)) }
  }
}
