import TestSupport
import Testing
import ThreadingPlatform

@testable import ThreadingLocks

@Suite("WaitPoint", .endsInTime)
struct WaitPointTests {
  @Test("a change that comes just after a look at the value is not slept through", .endsInTime)
  func changeAfterLook() {
    let point = WaitPoint()
    var looks = 0
    let isOver = point.wait(until: .now.advanced(by: .seconds(20))) {
      looks += 1
      // Where the change is seen only by the next look: what a thread in between the look and the sleep
      // would do.
      if looks == 1 { point.notify(.max) }
      return looks > 1
    }
    #expect(isOver)
    #expect(looks == 2)
  }

  @Test("the same of the values that are waited on", .endsInTime)
  func changeAfterLookAtValue() {
    let limit = MonotonicInstant.now.advanced(by: .seconds(20))
    let counter = AtomicCounter()
    var looks = 0
    let seen = counter.wait(until: limit) { value in
      looks += 1
      // The first look is that of a wait that may not be needed.
      if looks == 2 { counter.increment() }
      return value == 1
    }
    #expect(seen == 1)
    #expect(MonotonicInstant.now < limit)
  }

  @Test("a wait without a change ends at its deadline, and leaves nobody counted")
  func timedOut() {
    let point = WaitPoint()
    let start = MonotonicInstant.now
    #expect(!point.wait(until: start.advanced(by: .milliseconds(3))) { false })
    #expect(start.duration(to: .now) >= .milliseconds(3))
    #expect(point.waiting.load(ordering: .relaxed) == 0)
  }
}
