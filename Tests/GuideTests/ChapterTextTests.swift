import Foundation
import TestSupport
import Testing

@testable import guide

/// The texts of the chapters and the source that they show.
@Suite("The chapters' texts", .endsInTime)
struct ChapterTextTests {
  static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  static let numbers = Book.chapters.map { $0.number }

  @Test("the code that a text shows is the chapter's source", arguments: numbers)
  func excerpts(number: Int) throws {
    let chapter = Book.chapter(number)
    let snippets = try TextCheck.snippets(of: chapter)
    #expect(!snippets.pieces.isEmpty)
    #expect(try TextCheck.text(of: chapter).problems(snippets) == [])
  }

  @Test("a text that is another than the source is told, and can be put right")
  func difference() {
    var snippets = Snippets()
    snippets.add("  // snippet: one\n  let a = 1\n    + 2\n  // end\n", file: "a.swift")
    var text = ChapterText(
      "<!-- snippet: one -->\n```swift\nlet a = 2\n```\n\n```swift\nx\n```\n", file: "T")
    #expect(
      text.problems(snippets) == [
        "T:2: the snippet one is not as in the source",
        "T:6: no line <!-- snippet: NAME --> stands before this code",
      ])
    text.update(snippets)
    #expect(
      text.text
        == "<!-- snippet: one -->\n```swift\nlet a = 1\n  + 2\n```\n\n```swift\nx\n```\n")
    #expect(
      text.problems(snippets) == ["T:7: no line <!-- snippet: NAME --> stands before this code"])
    #expect(
      ChapterText("<!-- snippet: two -->\n```swift\n```", file: "T").problems(snippets) == [
        "T:2: there is no snippet two in the source", "T: the snippet one is shown nowhere",
      ])
  }

  @Test("marks in the source that do not match are told")
  func marks() {
    var snippets = Snippets()
    snippets.add("// end\n// snippet: a\n// snippet: b\n// end\n// snippet: b\n// end", file: "f")
    snippets.add("// snippet: c", file: "g")
    #expect(
      snippets.problems == [
        "f:1: an end without a snippet", "f:3: the snippet a has no end before this one",
        "f:6: there is another snippet b", "g: the snippet c has no end",
      ])
  }

  @Test("a pattern stands for lines with figures of any size")
  func patterns() {
    #expect(ChapterText.matches("took 12 ms of 13 ms", "took ... ms of ... ms"))
    #expect(ChapterText.matches("took 12 ms", "took ..."))
    #expect(!ChapterText.matches("took 12 s", "took ... ms"))
    #expect(!ChapterText.matches("it took 12 ms", "took ... ms"))
    #expect(!ChapterText.matches("took 12 ms", "took 12"))
    #expect(!ChapterText.matches(["a", "b"], ["a"]))
    #expect(!ChapterText.matches("aba", "ab...ba"))
    #expect(ChapterText.matches(["  not shown: a"], ["  ok: a"]))
    #expect(!ChapterText.matches(["  WRONG: a"], ["  ok: a"]))
  }

  @Test("the files that a text points to are there", arguments: numbers)
  func links(number: Int) throws {
    let file = Self.package.appending(path: Book.chapter(number).textPath)
    let text = try String(contentsOf: file, encoding: .utf8)
    let links = text.components(separatedBy: "](").dropFirst()
      .compactMap { $0.components(separatedBy: ")").first }
    #expect(!links.isEmpty)
    for link in links {
      let target = file.deletingLastPathComponent().appending(path: link)
      #expect(FileManager.default.fileExists(atPath: target.path), "\(link)")
    }
  }

  @Test("the guide's first page names every chapter and leads to it", arguments: numbers)
  func contents(number: Int) throws {
    let text = try String(
      contentsOf: Self.package.appending(path: "Guide/README.md"), encoding: .utf8)
    let chapter = Book.chapter(number)
    #expect(text.contains("\n| \(number) | [\(chapter.title)](\(chapter.folder)/README.md) | "))
  }

  @Test(
    "a text begins with the chapter's number and title, and fits a terminal", arguments: numbers)
  func titles(number: Int) throws {
    let chapter = Book.chapter(number)
    let text = try TextCheck.text(of: chapter)
    #expect(text.lines.first == "# \(number). \(chapter.title)")
    let shown = text.forTerminal(coloured: false)
    #expect(shown.hasPrefix("\(number). \(chapter.title)\n"))
    let prose = shown.split(separator: "\n").filter { !$0.hasPrefix("    ") }.joined(
      separator: "\n")
    #expect(!prose.contains("```") && !prose.contains("<!--") && !prose.contains("]("))
  }

  @Test("the text of an import names every option and exit status")
  func options() throws {
    let file = Self.package.appending(path: ImportChapter.textPath)
    let text = try String(contentsOf: file, encoding: .utf8)
    for status in ExitStatus.ofImport { #expect(text.contains("\n| \(status.rawValue) | ")) }
    for option in ImportOptions.syntax where option.name != "--help" {
      #expect(text.contains("\n| `\(option.name)"))
    }
  }
}
