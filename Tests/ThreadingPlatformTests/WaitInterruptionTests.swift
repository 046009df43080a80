import Synchronization
import TestSupport
import Testing
import ThreadingPlatform

private let word = Atomic<UInt32>(7)

@Suite("WaitInterruption", .endsInTime)
struct WaitInterruptionTests {
  @Test(
    "once asked, a wait with its limit answers at once, and as the kernel does if the word differs")
  func asked() {
    let interruption = WaitInterruption()
    let turn = interruption.begin(until: .now.advanced(by: .seconds(600)))
    let limit = turn.limit
    interruption.finish(interruption.ask())
    #expect(interruption.isAsked)
    #expect(Futex.wait(word, while: 7, until: limit) == .timedOut)
    #expect(Futex.wait(word, while: 8, until: limit) == .lookAgain)
    // Another limit is not the one that was begun with.
    let other = MonotonicInstant.now.advanced(by: .milliseconds(5))
    while Futex.wait(word, while: 7, until: other) != .timedOut {}
    #expect(MonotonicInstant.now >= other)
    WaitInterruption.end(turn)
    let late = MonotonicInstant.now.advanced(by: .milliseconds(5))
    while Futex.wait(word, while: 7, until: late) != .timedOut {}
    #expect(MonotonicInstant.now >= late)
  }

  @Test("a turn inside another ends its own waits, and the outer one's are there again after it")
  func nested() {
    let outer = WaitInterruption()
    let inner = WaitInterruption()
    outer.finish(outer.ask())
    let later = MonotonicInstant.now.advanced(by: .seconds(600))
    let turn = outer.begin(until: later)
    let own = inner.begin(until: .now.advanced(by: .milliseconds(5)))
    while Futex.wait(word, while: 7, until: own.limit) != .timedOut {}
    #expect(MonotonicInstant.now >= own.limit)
    WaitInterruption.end(own)
    #expect(Futex.wait(word, while: 7, until: turn.limit) == .timedOut)
    #expect(MonotonicInstant.now < later)
    WaitInterruption.end(turn)
  }

  @Test("a wait with the very moment that a turn was begun with is not taken for the turn's")
  func sameMoment() {
    let interruption = WaitInterruption()
    interruption.finish(interruption.ask())
    let moment = MonotonicInstant.now.advanced(by: .milliseconds(20))
    let turn = interruption.begin(until: moment)
    defer { WaitInterruption.end(turn) }
    #expect(turn.limit > moment)
    while Futex.wait(word, while: 7, until: moment) != .timedOut {}
    #expect(MonotonicInstant.now >= moment)
  }

  @Test("a wait without a limit is not ended, a sleep with the limit that never comes is")
  func limits() throws {
    let interruption = WaitInterruption()
    let hasSlept = Atomic<Bool>(false)
    let join = try inBackground {
      let turn = interruption.begin(until: .distantFuture)
      #expect(turn.limit < .distantFuture)
      WaitInterruption.end(turn)
      if interruption.sleep(until: .distantFuture) { hasSlept.store(true, ordering: .relaxed) }
    }
    interruption.finish(interruption.ask())
    join()
    let slept = hasSlept.load(ordering: .relaxed)
    #expect(slept)
  }

  @Test(
    "all of an interrupter's wakes reach a sleeper, at whatever point it comes", arguments: [300])
  func race(rounds: Int) throws {
    for round in 0..<rounds {
      let interruption = WaitInterruption()
      let isThere = Atomic<Bool>(false)
      let join = try inBackground {
        let turn = interruption.begin(until: .distantFuture)
        isThere.store(true, ordering: .releasing)
        while Futex.wait(word, while: 7, until: turn.limit) != .timedOut {}
        WaitInterruption.end(turn)
      }
      while !isThere.load(ordering: .acquiring) {}
      for _ in 0..<(round * 13 % 100) { Processors.relax() }
      interruption.finish(interruption.ask())
      join()
    }
  }
}
