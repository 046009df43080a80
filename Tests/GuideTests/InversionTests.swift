import TestSupport
import Testing
import Threading

@testable import guide

/// The priority inversion of the chapter on locks.
@Suite("A priority inversion", .serialized, .endsInTime)
struct InversionTests {
  @Test("it comes about each time, and inheritance prevents it each time")
  func order() throws {
    guard try LocksChapter.isRealTimeAllowed() else { return }
    let stage = try #require(try CPUSet.allowed().numbers.last)
    for _ in 0..<50 {
      #expect(try LocksChapter.order(.none, on: stage, Timeline()) == ["middle", "urgent"])
      #expect(try LocksChapter.order(.inherit, on: stage, Timeline()) == ["urgent", "middle"])
    }
  }
}
