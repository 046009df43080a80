extension ChapterText {
  /// The text as an article of the documentation: without marks, with links to symbols, to other chapters
  /// and to nothing that is not there.
  ///
  /// - Parameters:
  ///   - symbols: the names in code font that are to be links.
  ///   - links: the article for each link that leads to one, from the text's folder.
  ///   - chapters: the article for the number of each chapter but this.
  /// - Returns: the article, in the Markdown of the documentation.
  func article(symbols: Set<String>, links: [String: String], chapters: [Int: String]) -> String {
    var isCode = false
    var shown: [String] = []
    for line in lines {
      if line.hasPrefix("```") {
        isCode.toggle()
        shown.append(line)
      } else if isCode || line.hasPrefix("#") {
        shown.append(line)
      } else if !line.hasPrefix("<!-- ") {
        let linked = Self.linked(line, links)
        shown.append(Self.chaptersLinked(Self.symbolsLinked(linked, symbols), chapters))
      }
    }
    return shown.joined(separator: "\n")
  }

  /// A line whose links lead to articles; the others, to files, become the files' names in code font.
  private static func linked(_ line: String, _ links: [String: String]) -> String {
    line.replacing(/\[([^\]]*)\]\(([^)]*)\)/) { match in
      if let article = links[String(match.output.2)] {
        return "[\(match.output.1)](doc:\(article))"
      }
      return match.output.1.hasPrefix("`") ? String(match.output.1) : "`\(match.output.1)`"
    }
  }

  private static func symbolsLinked(_ line: String, _ symbols: Set<String>) -> String {
    line.replacing(/`([^`]+)`/) { match in
      symbols.contains(String(match.output.1)) ? "`\(match.output.0)`" : String(match.output.0)
    }
  }

  private static func chaptersLinked(_ line: String, _ chapters: [Int: String]) -> String {
    line.replacing(/\b[Cc]hapter (\d+)\b/) { match in
      guard let article = Int(match.output.1).flatMap({ chapters[$0] }) else {
        return String(match.output.0)
      }
      return "[\(match.output.0)](doc:\(article))"
    }
  }
}
