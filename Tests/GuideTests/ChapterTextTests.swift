import Foundation
import Testing

@testable import guide

@Suite("The chapters' texts")
struct ChapterTextTests {
  static let package = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  @Test("the code that a text shows is in the chapter's source", arguments: Chapter.all)
  func excerpts(chapter: Chapter) throws {
    let file = Self.package.appending(path: chapter.textPath)
    let text = try String(contentsOf: file, encoding: .utf8)
    let sources = try sources(in: file.deletingLastPathComponent())
    let blocks = text.components(separatedBy: "```swift\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }
    #expect(!blocks.isEmpty)
    for block in blocks {
      let wanted = Self.lines(block)
      #expect(sources.contains { Self.contains($0, wanted) }, "not in the source:\n\(block)")
    }
  }

  @Test("the files that a text points to are there", arguments: Chapter.all)
  func links(chapter: Chapter) throws {
    let file = Self.package.appending(path: chapter.textPath)
    let text = try String(contentsOf: file, encoding: .utf8)
    let links = text.components(separatedBy: "](").dropFirst()
      .compactMap { $0.components(separatedBy: ")").first }
    #expect(!links.isEmpty)
    for link in links {
      let target = file.deletingLastPathComponent().appending(path: link)
      #expect(FileManager.default.fileExists(atPath: target.path), "\(link)")
    }
  }

  @Test("the text of an import names every option and exit status")
  func options() throws {
    let file = Self.package.appending(path: Chapter.importing.textPath)
    let text = try String(contentsOf: file, encoding: .utf8)
    for status in ExitStatus.allCases { #expect(text.contains("\n| \(status.rawValue) | ")) }
    for option in ImportOptions.syntax where option.name != "--help" {
      #expect(text.contains("\n| `\(option.name)"))
    }
  }

  /// The lines of all source files below a folder, a list for each file.
  private func sources(in folder: URL) throws -> [[String]] {
    let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String }
    return try (names ?? []).filter { $0.hasSuffix(".swift") }.map { name in
      Self.lines(try String(contentsOf: folder.appending(path: name), encoding: .utf8))
    }
  }

  /// The lines that are not empty, without what they are indented by.
  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }
  }

  private static func contains(_ lines: [String], _ wanted: [String]) -> Bool {
    lines.indices.contains { lines[$0...].starts(with: wanted) }
  }
}
