import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Exchanger", .endsInTime)
struct ExchangerTests {
  @Test("two threads get each other's value", .endsInTime)
  func pair() throws {
    let exchanger = Exchanger<String>()
    let first = try waiting { #expect(exchanger.exchange("first") == "second") }
    #expect(exchanger.exchange("second", for: .zero) == "first")
    first()
  }

  @Test("a wait ends at its deadline, never before, and leaves nothing behind")
  func timedOut() throws {
    let exchanger = Exchanger<Int>()
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      let start = MonotonicInstant.now
      #expect(exchanger.exchange(1, for: .microseconds(microseconds)) == nil)
      #expect(start.duration(to: .now) >= .microseconds(microseconds))
    }
    let other = try waiting { #expect(exchanger.exchange(2) == 3) }
    #expect(exchanger.exchange(3, until: .distantFuture) == 2)
    other()
  }

  @Test("what one gives is taken by exactly one, and by whom it got from", .endsInTime)
  func stress() throws {
    let exchanger = Exchanger<Int>()
    let partners = Locked<[Int: Int]>([:])
    try concurrently(4) { index in
      var swaps: [Int: Int] = [:]
      for round in 0..<2_000 {
        let mine = index * 10_000 + round
        if let other = exchanger.exchange(mine, for: .microseconds(50)) { swaps[mine] = other }
      }
      partners.withLock { $0.merge(swaps) { first, _ in first } }
    }
    let all = partners.withLock { $0 }
    #expect(all.allSatisfy { all[$0.value] == $0.key })
  }
}
