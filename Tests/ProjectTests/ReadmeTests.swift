import Foundation
import TestSupport
import Testing

@Suite("README.md", .endsInTime)
struct ReadmeTests {
  @Test("the example is the program that the consumer package builds and runs")
  func example() throws {
    let readme = try Repository.text("README.md")
    let opened = try #require(readme.range(of: "```swift\n"))
    let rest = readme[opened.upperBound...]
    let closed = try #require(rest.range(of: "```\n"))
    let program = try Repository.text("Tests/Consumer/Sources/ReadmeExample/main.swift")
    #expect(String(rest[..<closed.lowerBound]) == program)
  }

  @Test("the commands to start are exactly two, one to a line")
  func commands() throws {
    let lines = try Repository.text("README.md").split(separator: "\n").map(String.init)
    for command in ["swift run -c release guide import", "swift test"] {
      #expect(lines.filter { $0 == command }.count == 1, "\(command)")
    }
  }
}
