import TestSupport
import Testing
import ThreadingPlatform

@Suite("Looking before sleeping", .endsInTime)
struct SpinTests {
  /// How often each of some waits looks, none of which sees anything.
  private func looks(_ history: borrowing SpinHistory, waits: Int) -> [Int] {
    (0..<waits).map { _ in
      var looks = 0
      let isOver = history.look(until: .distantFuture) {
        looks += 1
        return false
      }
      #expect(isOver == false)
      return looks
    }
  }

  @Test("a time to spin ends, and none is none")
  func bounded() {
    var none = Spin(for: 0)
    #expect(none.pause() == false)
    for nanoseconds in [1_000, 20_000, 1_000_000] {
      var spin = Spin(for: nanoseconds)
      var pauses = 0
      while spin.pause() { pauses += 1 }
      #expect((pauses > 0) == (Processors.atStart > 1))
      #expect(pauses <= nanoseconds, "each takes more than a nanosecond")
      #expect(spin.pause() == false)
    }
  }

  @Test("after looks that saw nothing, waits sleep at once, and now and then one looks again")
  func failures() throws {
    try #require(Processors.atStart > 1)
    let history = SpinHistory()
    let counts = looks(history, waits: 2 + 1_024 + 1 + 1_024)
    #expect(counts[0] > 0)
    #expect(counts[1] > 0)
    #expect(counts[2..<1_026].allSatisfy { $0 == 0 })
    #expect(counts[1_026] > 0)
    #expect(counts[1_027...].allSatisfy { $0 == 0 })
  }

  @Test("looks that saw something are followed by more, up to a limit")
  func successes() throws {
    try #require(Processors.atStart > 1)
    let history = SpinHistory()
    for _ in 0..<20 { #expect(history.look(until: .distantFuture) { true } == true) }
    let counts = looks(history, waits: 20)
    #expect(counts.prefix(8).allSatisfy { $0 > 0 })
    #expect(counts.dropFirst(8).allSatisfy { $0 == 0 })
  }

  @Test("a wait whose moment has come does not look")
  func pastDeadline() {
    let history = SpinHistory()
    let isOver = history.look(until: MonotonicInstant.now) {
      Issue.record("it looks")
      return true
    }
    #expect(isOver == false)
  }
}
