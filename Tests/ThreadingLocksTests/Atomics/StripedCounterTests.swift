import TestSupport
import Testing
import ThreadingLocks

@Suite("StripedCounter", .endsInTime)
struct StripedCounterTests {
  @Test("adds up whatever is added, and can be taken")
  func sequential() {
    let counter = StripedCounter(stripes: 3)
    #expect(counter.stripes == 4)
    counter.add()
    counter.add(5)
    counter.add(-2)
    #expect(counter.sum == 4)
    #expect(counter.takeSum() == 4)
    #expect(counter.sum == 0)
    counter.add(.max)
    counter.add(1)
    #expect(counter.sum == .min, "wraps around")
    #expect(StripedCounter().stripes >= 2)
  }

  @Test("loses nothing under load", .endsInTime, arguments: [1, 4, 64])
  func stress(stripes: Int) throws {
    let counter = StripedCounter(stripes: stripes)
    let taken = AtomicCounter()
    try concurrently(4) { index in
      for _ in 0..<20_000 { counter.add(index + 1) }
      taken.increment(by: counter.takeSum())
    }
    #expect(taken.value + counter.sum == 200_000)
  }

  @Test("a number of stripes out of range stops the program")
  func misuse() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = StripedCounter(stripes: 0)
    }
    #expect(message(of: result).contains("StripedCounter: made with 0 stripes; 1 to 4096"))
    await #expect(processExitsWith: .failure) { _ = StripedCounter(stripes: 4_097) }
  }
}
