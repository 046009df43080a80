import Foundation
import TestSupport
import Testing

/// The catalogue of the documentation. That its links lead somewhere is checked where the documentation
/// is built.
@Suite("The documentation's catalogue", .endsInTime)
struct CatalogueTests {
  private static let page = "Sources/Threading/Threading.docc/Threading.md"

  /// The names that a page lists among its topics, without the labels of functions.
  private static func listed() throws -> [String] {
    try Repository.text(page).matches(of: /(?m)^- ``(\w+)(?:\(.*\))?``$/)
      .map { String($0.output.1) }
  }

  /// The names that are public at the top level of the layers.
  private static func declared() throws -> Set<String> {
    let keywords = "actor|class|enum|func|protocol|struct|typealias|let|var"
    let declaration = try Regex<(Substring, Substring)>(
      "(?m)^(?:@[\\w()]+ )*(?:public|open) (?:final )?(?:\(keywords)) (\\w+)")
    var names: Set<String> = []
    for file in try Repository.swiftFiles(in: "Sources") {
      names.formUnion(
        try Repository.text(file).matches(of: declaration).map { String($0.output.1) })
    }
    return names
  }

  @Test("every public type and function is in one of the topics")
  func isComplete() throws {
    let declared = try Self.declared()
    #expect(declared.count > 90)
    #expect(declared.contains("ThreadRunLoop") && declared.contains("parallelMap"))
    #expect(declared.subtracting(try Self.listed()).sorted() == [], "in no topic of \(Self.page)")
  }

  @Test("none is in two of them, and none is gone")
  func isTrue() throws {
    let listed = try Self.listed()
    let twice = Dictionary(grouping: listed) { $0 }.filter { $0.value.count > 1 }
    #expect(twice.keys.sorted() == [])
    #expect(Set(listed).subtracting(try Self.declared()).sorted() == [])
  }

  @Test("its example is the program that the consumer package builds and runs")
  func example() throws {
    let program = try Repository.text("Tests/Consumer/Sources/ReadmeExample/main.swift")
    #expect(try Repository.text(Self.page).contains("```swift\n\(program)```\n"))
  }
}
