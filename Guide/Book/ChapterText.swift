/// The text of a chapter, in Markdown, with what the program knows how to find in it.
///
/// A line `<!-- snippet: NAME -->` stands before each block of Swift code, which is that piece of the
/// chapter's source. A line `<!-- output -->` stands before the block that shows what the program
/// prints; there, `...` stands for what is another in each run.
struct ChapterText {
  /// The name of the file, for messages.
  let file: String
  private(set) var lines: [String]

  init(_ text: String, file: String) {
    self.file = file
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// The text as it is to be in the file.
  var text: String { lines.joined(separator: "\n") }

  /// A block of code: from the line after its opening fence to the line before its closing one.
  private struct Block {
    /// What the line before the fence says it is.
    let mark: String?
    let language: String
    let opening: Int
    let content: Range<Int>
  }

  private var blocks: [Block] {
    var blocks: [Block] = []
    var opening: Int?
    for (index, line) in lines.enumerated() where line.hasPrefix("```") {
      guard let start = opening else {
        opening = index
        continue
      }
      let before = start > 0 ? lines[start - 1] : ""
      let isMark = before.hasPrefix("<!-- ") && before.hasSuffix(" -->")
      blocks.append(
        Block(
          mark: isMark ? String(before.dropFirst(5).dropLast(4)) : nil,
          language: String(lines[start].dropFirst(3)), opening: start, content: start + 1..<index))
      opening = nil
    }
    return blocks
  }

  /// What the program prints, as the text shows it; nil if it does not.
  var output: [String]? {
    blocks.first { $0.mark == "output" }.map { Array(lines[$0.content]) }
  }

  /// What of the code shown is not the source's, one line each.
  func problems(_ snippets: Snippets) -> [String] {
    var unused = Set(snippets.pieces.keys)
    var problems = snippets.problems
    for block in blocks where block.language == "swift" {
      let place = "\(file):\(block.opening + 1)"
      guard let name = Self.snippet(block.mark) else {
        problems.append("\(place): no line <!-- snippet: NAME --> stands before this code")
        continue
      }
      unused.remove(name)
      if let piece = snippets.pieces[name] {
        if piece != Array(lines[block.content]) {
          problems.append("\(place): the snippet \(name) is not as in the source")
        }
      } else {
        problems.append("\(place): there is no snippet \(name) in the source")
      }
    }
    return problems + unused.sorted().map { "\(file): the snippet \($0) is shown nowhere" }
  }

  /// Puts the snippets into the text as they are in the source.
  mutating func update(_ snippets: Snippets) {
    for block in blocks.reversed() where block.language == "swift" {
      guard let name = Self.snippet(block.mark), let piece = snippets.pieces[name] else { continue }
      lines.replaceSubrange(block.content, with: piece)
    }
  }

  private static func snippet(_ mark: String?) -> String? {
    guard let mark, mark.hasPrefix("snippet: ") else { return nil }
    return String(mark.dropFirst("snippet: ".count))
  }
}

extension ChapterText {
  /// The text for a terminal: without marks and the addresses of links, with code set off.
  func forTerminal(coloured: Bool) -> String {
    var isCode = false
    var shown: [String] = []
    for line in lines {
      if line.hasPrefix("```") {
        isCode.toggle()
      } else if isCode {
        shown.append(coloured ? "    \u{1B}[36m\(line)\u{1B}[0m" : "    \(line)")
      } else if line.hasPrefix("#") {
        let title = String(line.drop { $0 == "#" }.drop { $0 == " " })
        shown.append(coloured ? "\u{1B}[1m\(title)\u{1B}[0m" : title)
      } else if !line.hasPrefix("<!-- ") {
        shown.append(Self.withoutAddresses(line))
      }
    }
    return shown.joined(separator: "\n")
  }

  /// A line in which a link is its words alone.
  private static func withoutAddresses(_ line: String) -> String {
    line.replacing(/\[([^\]]*)\]\([^)]*\)/) { String($0.output.1) }
  }

  /// Whether lines are those of a pattern, in which `...` stands for anything within a line. A claim
  /// that a machine cannot show may be said not to be shown.
  static func matches(_ lines: [String], _ pattern: [String]) -> Bool {
    lines.count == pattern.count
      && zip(lines, pattern).allSatisfy { line, pattern in
        let notShown = pattern.replacing("  ok: ", with: "  not shown: ", maxReplacements: 1)
        return matches(line, pattern) || matches(line, notShown)
      }
  }

  /// Whether a line is as a pattern says, in which `...` stands for anything.
  static func matches(_ line: String, _ pattern: String) -> Bool {
    var rest = line[...]
    let pieces = pattern.split(separator: "...", omittingEmptySubsequences: false)
    for (index, piece) in pieces.enumerated() {
      if index == 0 {
        guard rest.hasPrefix(piece) else { return false }
        rest = rest.dropFirst(piece.count)
      } else if index == pieces.count - 1 {
        guard rest.hasSuffix(piece) else { return false }
        rest = ""
      } else {
        guard let found = rest.firstRange(of: piece) else { return false }
        rest = rest[found.upperBound...]
      }
    }
    return rest.isEmpty
  }
}
