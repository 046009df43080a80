import TestSupport
import Testing
import ThreadingLocks

@Suite("SequenceLocked", .endsInTime)
struct SequenceLockedTests {
  private struct Sample: BitwiseCopyable, Sendable, Equatable {
    var first: UInt64
    var second: UInt64
    var third: UInt64
    var last: UInt8

    init(_ number: UInt64) {
      first = number
      second = ~number
      third = number &* 3
      last = UInt8(truncatingIfNeeded: number)
    }
  }

  @Test("gives back what was stored, whatever its size")
  func sizes() {
    #expect(SequenceLocked(UInt8(7)).load() == 7)
    #expect(SequenceLocked(true).load())
    #expect(SequenceLocked(1.5).load() == 1.5)
    #expect(SequenceLocked(SIMD16<Float>(repeating: 2)).load() == SIMD16(repeating: 2))
    let sample = SequenceLocked(Sample(1))
    sample.store(Sample(2))
    #expect(sample.load() == Sample(2))
    #expect(
      sample.update { value in
        value = Sample(value.first + 1)
        return value.first
      } == 3)
    #expect(sample.load() == Sample(3))
  }

  @Test("an error leaves the value as it was")
  func throwing() {
    struct Refusal: Error {}
    let value = SequenceLocked(1)
    #expect(throws: Refusal.self) {
      try value.update { (value: inout Int) throws(Refusal) in
        value = 2
        throw Refusal()
      }
    }
    #expect(value.load() == 1)
    value.store(3)
    #expect(value.load() == 3)
  }

  @Test("readers see values as a whole, in the order of writing", .endsInTime)
  func stress() throws {
    let shared = SequenceLocked(Sample(0))
    try concurrently(4) { index in
      if index < 2 {
        for _ in 0..<20_000 { shared.update { $0 = Sample($0.first + 1) } }
      } else {
        var latest: UInt64 = 0
        for _ in 0..<40_000 {
          let seen = shared.load()
          if seen != Sample(seen.first) { Issue.record("torn: \(seen)") }
          if seen.first < latest { Issue.record("\(seen.first) after \(latest)") }
          latest = seen.first
        }
      }
    }
    #expect(shared.load() == Sample(40_000))
  }

  @Test("what was written before is seen with the value", .endsInTime)
  func ordering() throws {
    let data = (0..<2_000).map { _ in Unguarded(0) }
    let latest = SequenceLocked(-1)
    try concurrently(2) { index in
      if index == 0 {
        for number in data.indices {
          data[number].value = number + 1
          latest.store(number)
        }
      } else {
        var number = -1
        while number < data.count - 1 {
          number = latest.load()
          if number >= 0, data[number].value != number + 1 { Issue.record("missing \(number)") }
        }
      }
    }
  }
}
