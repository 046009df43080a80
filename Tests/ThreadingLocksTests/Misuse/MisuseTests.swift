import TestSupport
import Testing

/// Every kind of lock and meeting point with every misuse that can be seen. What cannot is in the
/// table of Sources/ARCHITECTURE.md.
@Suite("Misuse stops the program", .endsInTime)
struct MisuseTests {
  @Test(
    "and the message names the object, what was done, and the threads", .endsInTime,
    arguments: MisuseCase.all.map(\.name))
  func message(name: String) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [name = name as String] in
      try MisuseCase.named(name).commit()
    }
    let written = ThreadingLocksTests.message(of: result).split(separator: "\n").map(String.init)
    // The threads tell their ids before they go wrong.
    var ids: [String: String] = [:]
    for line in written {
      let words = line.split(separator: " ")
      if words.count == 3 && words[1] == "is" { ids[String(words[0])] = String(words[2]) }
    }
    let error = try #require(written.first { $0.contains("Fatal error: ") }, "\(written)")
    var rest = error[...]
    for part in MisuseCase.named(name).message {
      var expected = part
      for (thread, id) in ids {
        expected = expected.replacing("<\(thread)>", with: "thread \(id) \"\(thread)\"")
      }
      let found = try #require(rest.firstRange(of: expected), "\(expected) in \(error)")
      rest = rest[found.upperBound...]
    }
  }

  @Test("no case is there twice")
  func distinct() {
    #expect(Set(MisuseCase.all.map(\.name)).count == MisuseCase.all.count)
  }
}
