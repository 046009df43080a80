import Foundation
import TestSupport
import Testing

@testable import guide

/// The chapters as articles of the documentation.
@Suite("The chapters as articles", .endsInTime)
struct ArticleTests {
  let folder: Folder

  init() throws {
    folder = try Folder()
  }

  @Test("symbols and chapters become links, files become names, and marks are gone")
  func links() {
    let text = ChapterText(
      """
      # 8. Of `Mailbox`
      `Mailbox` and `loop.perform { }`, chapter 8, Chapter 9 and chapter 99; `Other`.
      [The ninth](../09-Nine/README.md), [a.swift](a.swift), [`b`](B/b.swift)
      <!-- snippet: a -->
      ```swift
      let a = `Mailbox`  // chapter 9
      ```
      """, file: "T")
    let article = text.article(
      symbols: ["Mailbox"], links: ["../09-Nine/README.md": "09-Nine"], chapters: [9: "09-Nine"])
    #expect(
      article == """
        # 8. Of `Mailbox`
        ``Mailbox`` and `loop.perform { }`, chapter 8, [Chapter 9](doc:09-Nine) and chapter 99; `Other`.
        [The ninth](doc:09-Nine), `a.swift`, `b`
        ```swift
        let a = `Mailbox`  // chapter 9
        ```
        """)
  }

  @Test("a catalogue gets an article for each chapter, and the list of them")
  func catalogue() throws {
    try Data("- ``Mailbox``\n- ``perform(_:)``\n".utf8)
      .write(to: URL(filePath: folder.path + "/Threading.md"))
    let recorder = Recorder()
    #expect(Guide.run(["articles", folder.path], on: recorder.console()) == .done)
    #expect(recorder.output == "wrote \(Book.chapters.count + 1) articles to \(folder.path)\n")
    let contents = try article(Articles.contents)
    #expect(!contents.contains("## What is where"))
    for chapter in Book.chapters {
      let text = try article(chapter.folder)
      #expect(text.hasPrefix("# \(chapter.number). \(chapter.title)\n"))
      #expect(!text.contains("<!--"))
      #expect(contents.contains("[\(chapter.title)](doc:\(chapter.folder))"))
      #expect(contents.contains("\n- <doc:\(chapter.folder)>\n"))
    }
    #expect(try article("13-Talking").contains("``Mailbox``"))
  }

  private func article(_ name: String) throws -> String {
    try String(contentsOfFile: "\(folder.path)/\(name).md", encoding: .utf8)
  }

  @Test("a folder that is no catalogue, or that cannot be written to, is told in one line")
  func noCatalogue() throws {
    let recorder = Recorder()
    #expect(Guide.run(["articles", folder.path], on: recorder.console()) == .noInput)
    #expect(
      recorder.errors
        == "guide: cannot read \(folder.path)/Threading.md: No such file or directory; "
        + "the articles go into a catalogue that has this page\n")
    try Data().write(to: URL(filePath: folder.path + "/Threading.md"))
    // No file can be written where a folder of its name is.
    let name = try #require(Book.chapters.first).folder
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/\(name).md", withIntermediateDirectories: false)
    let second = Recorder()
    #expect(Guide.run(["articles", folder.path], on: second.console()) == .fileError)
    #expect(second.errors.hasPrefix("guide: cannot make \(folder.path)/\(name).md: a folder has"))
    #expect(second.errors.split(separator: "\n").count == 1)
  }
}
