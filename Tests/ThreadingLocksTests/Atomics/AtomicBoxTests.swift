import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("AtomicBox", .endsInTime)
struct AtomicBoxTests {
  private enum Phase: UInt8, AtomicRepresentable, Sendable {
    case first, second
  }

  @Test("holds values of every width, and gives all operations on them")
  func widths() {
    #expect(AtomicBox<Int8>(1).atomic.wrappingAdd(1, ordering: .relaxed).newValue == 2)
    #expect(AtomicBox<UInt16>(6).atomic.bitwiseAnd(3, ordering: .relaxed).newValue == 2)
    #expect(AtomicBox<UInt32>(6).atomic.bitwiseOr(1, ordering: .relaxed).newValue == 7)
    #expect(AtomicBox(6).atomic.bitwiseXor(2, ordering: .relaxed).newValue == 4)
    #expect(AtomicBox(false).atomic.logicalOr(true, ordering: .relaxed).newValue == true)
    #expect(AtomicBox(1.5).atomic.exchange(2.5, ordering: .relaxed) == 1.5)
    #expect(AtomicBox<Float>(1).atomic.load(ordering: .relaxed) == 1)
    #expect(AtomicBox(Phase.first).atomic.exchange(.second, ordering: .relaxed) == .first)
    let pair = AtomicBox(WordPair(first: 1, second: 2))
    #expect(pair.update { WordPair(first: $0.second, second: $0.first) }.newValue.first == 2)
  }

  @Test("an update computes from what is there, whoever interferes", .endsInTime)
  func update() throws {
    let sum = AtomicBox(0.0)
    try concurrently(4) { _ in
      for _ in 0..<10_000 { sum.update { $0 + 0.5 } }
    }
    #expect(sum.atomic.load(ordering: .relaxed) == 20_000)
  }

  @Test("a wait ends when the value has changed", .endsInTime)
  func waits() throws {
    let phase = AtomicBox(Phase.first)
    let data = Unguarded(0)
    #expect(phase.wait(while: .second) == .first)
    let joins = try (0..<3).map { _ in
      try waiting {
        #expect(phase.wait(while: .first) == .second)
        #expect(data.value == 1)
      }
    }
    data.value = 1
    phase.atomic.store(.second, ordering: .releasing)
    phase.notifyAll()
    for join in joins { join() }
  }

  @Test("notifyOne wakes one", .endsInTime)
  func notifyOne() throws {
    let value = AtomicBox(0)
    let join = try waiting { #expect(value.wait(while: 0) == 1) }
    value.atomic.store(1, ordering: .releasing)
    value.notifyOne()
    join()
  }

  @Test("a wait ends at its deadline, never before")
  func timedOut() {
    let value = AtomicBox(0)
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      let start = MonotonicInstant.now
      #expect(value.wait(while: 0, for: .microseconds(microseconds)) == nil)
      #expect(start.duration(to: .now) >= .microseconds(microseconds))
    }
    #expect(value.wait(while: 1, until: MonotonicInstant(nanoseconds: 0)) == 0)
  }

  @Test("no change is missed between two threads that take turns", .endsInTime)
  func pingPong() throws {
    let turn = AtomicBox(0)
    let count = Unguarded(0)
    try concurrently(2) { index in
      for _ in 0..<10_000 {
        if turn.wait(while: 1 - index) != index { Issue.record("out of turn") }
        count.value += 1
        turn.atomic.store(1 - index, ordering: .releasing)
        turn.notifyOne()
      }
    }
    #expect(count.value == 20_000)
  }

  @Test("a weak compare and exchange succeeds within bounds, with every ordering")
  func weak() {
    let value = AtomicBox(0)
    var tries = [0, 0, 0, 0]
    func succeed(_ index: Int, _ attempt: () -> Bool) {
      while tries[index] < 1_000 {
        tries[index] += 1
        if attempt() { return }
      }
    }
    succeed(0) {
      value.atomic.weakCompareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged
    }
    succeed(1) {
      value.atomic.weakCompareExchange(expected: 1, desired: 2, ordering: .acquiring).exchanged
    }
    succeed(2) {
      value.atomic.weakCompareExchange(expected: 2, desired: 3, ordering: .releasing).exchanged
    }
    succeed(3) {
      value.atomic.weakCompareExchange(
        expected: 3, desired: 4, ordering: .sequentiallyConsistent
      ).exchanged
    }
    #expect(value.atomic.load(ordering: .relaxed) == 4)
    #expect(tries.allSatisfy { $0 < 1_000 })
  }
}
