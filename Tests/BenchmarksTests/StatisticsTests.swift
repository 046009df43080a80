import BenchmarkSupport
import TestSupport
import Testing

@testable import benchmarks

@Suite("Statistics", .endsInTime)
struct StatisticsTests {
  @Test("the median is the middle sample, or between the two in the middle")
  func median() {
    #expect(Statistics(of: [3, 1, 2]).median == 2)
    #expect(Statistics(of: [4, 1, 3, 2]).median == 2.5)
    #expect(Statistics(of: [7]).median == 7)
  }

  @Test("the minimum is the smallest sample, wherever it stands")
  func minimum() {
    #expect(Statistics(of: [5, 9, 2, 8]).minimum == 2)
  }

  @Test("quartiles lie between samples by proportion; the spread is relative to the median")
  func quartiles() {
    let statistics = Statistics(of: [5, 1, 4, 2, 3])
    #expect(statistics.lowerQuartile == 2)
    #expect(statistics.upperQuartile == 4)
    #expect(abs(statistics.spread - 2.0 / 3) < 1e-12)
    #expect(Statistics(of: [1, 2]).lowerQuartile == 1.25)
    #expect(Statistics(of: [7]).spread == 0)
    #expect(Statistics(of: [0, 0]).spread == 0)
  }

  @Test("the 99th percentile of 1 to 200 is 198, of 1 to 100 is 99, of fewer the largest")
  func percentile() {
    #expect(Statistics(of: (1...200).map(Double.init).shuffled()).percentile99 == 198)
    #expect(Statistics(of: (1...101).map(Double.init).shuffled()).percentile99 == 100)
    #expect(Statistics(of: (1...100).map(Double.init).shuffled()).percentile99 == 99)
    #expect(Statistics(of: (1...99).map(Double.init).shuffled()).percentile99 == 99)
    #expect(Statistics(of: (1...15).map(Double.init).shuffled()).percentile99 == 15)
    #expect(Statistics(of: [6]).percentile99 == 6)
  }
}

@Suite("Interleaving", .endsInTime)
struct InterleavingTests {
  @Test("every round has each implementation once", arguments: 1...6)
  func complete(count: Int) {
    for round in 0..<20 {
      #expect(
        Interleaving.order(ofRound: round, implementations: count).sorted() == Array(0..<count))
    }
  }

  @Test("over as many rounds as implementations, each stands once at each place", arguments: 1...6)
  func fair(count: Int) {
    for place in 0..<count {
      let inPlace = (0..<count).map {
        Interleaving.order(ofRound: $0, implementations: count)[place]
      }
      #expect(Set(inPlace).count == count)
    }
  }
}
