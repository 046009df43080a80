import TestSupport
import Testing

@Suite("The suites of tests", .endsInTime)
struct SuiteTests {
  @Test("each gives its tests their turns, so that none runs among hundreds")
  func turns() throws {
    // What stands between the attribute and the type that it belongs to.
    let suite = /@Suite\b([\s\S]*?)\b(?:struct|class|enum|actor) (\w+)/
    var count = 0
    for file in try Repository.swiftFiles(in: "Tests") {
      for match in try Repository.text(file).matches(of: suite) {
        count += 1
        #expect(match.1.contains(".endsInTime"), "\(file): \(match.2)")
      }
    }
    #expect(count > 100)
  }
}
