/// `guide articles`: makes the chapters articles of the documentation, so that their texts are written once.
enum Articles {
  /// The article that the guide's first page becomes.
  static let contents = "The-Guide"

  /// Writes an article for each chapter, and one with the list of them, into a catalogue of the
  /// documentation.
  ///
  /// - Returns: what the process shall end with.
  static func run(catalogue: String, on console: Console) -> ExitStatus {
    do throws(FileError) {
      let symbols = Self.symbols(in: try text("\(catalogue)/Threading.md"))
      for chapter in Book.chapters {
        try write(try article(of: chapter, symbols), named: chapter.folder, in: catalogue)
      }
      try write(try self.contents(symbols), named: contents, in: catalogue)
      console.say("wrote \(Book.chapters.count + 1) articles to \(catalogue)")
      return .done
    } catch {
      console.fail(error)
      return error.status
    }
  }

  /// The names that a page lists among its topics.
  static func symbols(in page: String) -> Set<String> {
    Set(page.matches(of: /(?m)^- ``(\w+)``$/).map { String($0.output.1) })
  }

  private static func article(
    of chapter: any Chapter.Type, _ symbols: Set<String>
  ) throws(FileError) -> String {
    let others = Book.chapters.filter { $0.number != chapter.number }
    return try TextCheck.text(of: chapter).article(
      symbols: symbols,
      links: Dictionary(
        uniqueKeysWithValues: others.map { ("../\($0.folder)/README.md", $0.folder) }),
      chapters: Dictionary(uniqueKeysWithValues: others.map { ($0.number, $0.folder) }))
  }

  /// The guide's first page, as far as it speaks to readers of chapters and not to writers of them, and
  /// the list of the chapters by which the documentation finds them.
  private static func contents(_ symbols: Set<String>) throws(FileError) -> String {
    let page = try GuideFolder.text("README.md")
    let end = page.range(of: "\n## What is where")?.lowerBound ?? page.endIndex
    let text = ChapterText(String(page[..<end]), file: "README.md").article(
      symbols: symbols,
      links: Dictionary(
        uniqueKeysWithValues: Book.chapters.map { ("\($0.folder)/README.md", $0.folder) }),
      chapters: [:])
    let list = Book.chapters.map { "- <doc:\($0.folder)>" }.joined(separator: "\n")
    return "\(text)\n## Topics\n\n### The chapters\n\n\(list)\n"
  }

  private static func text(_ path: String) throws(FileError) -> String {
    do {
      return try InputFile.text(of: path)
    } catch {
      throw FileError(
        action: "read", path: path,
        reason: "\(error.reason); the articles go into a catalogue that has this page")
    }
  }

  private static func write(
    _ text: String, named name: String, in catalogue: String
  ) throws(FileError) {
    let file = try OutputFile(path: "\(catalogue)/\(name).md", replaces: true)
    try file.write(text)
    try file.finish()
  }
}
