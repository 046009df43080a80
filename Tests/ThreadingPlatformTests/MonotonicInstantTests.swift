import TestSupport
import Testing

@testable import ThreadingPlatform

@Suite("MonotonicInstant", .endsInTime)
struct MonotonicInstantTests {
  private let start = MonotonicInstant(nanoseconds: 1_000)

  @Test("the clock never goes back")
  func monotonic() {
    var last = MonotonicInstant.now
    for _ in 0..<100_000 {
      let next = MonotonicInstant.now
      #expect(next >= last)
      last = next
    }
  }

  @Test("adding a duration and measuring it are inverse")
  func roundTrip() {
    for duration in [Duration.zero, .nanoseconds(1), .seconds(3), .milliseconds(-5)] {
      #expect(start.duration(to: start.advanced(by: duration)) == duration)
    }
  }

  @Test("a fraction of a nanosecond is rounded up, so that no wait is shorter than asked for")
  func roundsUp() {
    let half = Duration(secondsComponent: 0, attosecondsComponent: 500_000_000)
    #expect(start.advanced(by: half).nanoseconds == 1_001)
    #expect(start.advanced(by: .zero - half).nanoseconds == 1_000)
    #expect(start.advanced(by: .seconds(1) + half).nanoseconds == 1_000_001_001)
  }

  @Test("too far away is the distant future, in either direction of the overflow")
  func saturates() {
    #expect(start.advanced(by: .seconds(Int64.max)) == .distantFuture)
    #expect(start.advanced(by: .seconds(300 * 366 * 86_400)) == .distantFuture)
    #expect(start.advanced(by: .seconds(Int64.min)).nanoseconds == .min + 1_000)
    let low = MonotonicInstant(nanoseconds: .min)
    #expect(low.advanced(by: .seconds(Int64.min)).nanoseconds == .min)
  }

  @Test("the distant future stays where it is")
  func distantFutureIsFixed() {
    #expect(MonotonicInstant.distantFuture.advanced(by: .seconds(-1)) == .distantFuture)
    #expect(MonotonicInstant.distantFuture.advanced(by: .seconds(1)) == .distantFuture)
  }

  @Test("the widest distance is measured without overflow")
  func widest() {
    let low = MonotonicInstant(nanoseconds: .min)
    let expected = Duration.nanoseconds(Int64.max) - .nanoseconds(Int64.min)
    #expect(low.duration(to: .distantFuture) == expected)
    #expect(MonotonicInstant.distantFuture.duration(to: low) == .zero - expected)
  }

  @Test("a sleep lasts at least until its moment")
  func sleep() {
    let deadline = MonotonicInstant.now.advanced(by: .milliseconds(3))
    SystemThread.sleep(until: deadline)
    #expect(MonotonicInstant.now >= deadline)
  }

  @Test("durations of more seconds than 64 bits can count are the distant future and past")
  func hugeDurations() {
    let ages = Duration.seconds(Int64.max) * 4
    #expect(MonotonicInstant.now.advanced(by: ages) == .distantFuture)
    let before = MonotonicInstant(nanoseconds: -1)
    #expect(before.advanced(by: .zero - ages).nanoseconds == .min)
  }
}
