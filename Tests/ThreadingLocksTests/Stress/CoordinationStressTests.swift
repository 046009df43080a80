import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Stress of the meeting points", .endsInTime)
struct CoordinationStressTests {
  @Test(
    "CountingSemaphore: batches, taken, tried and given up",
    .endsInTime, arguments: [UInt64(1)])
  func countingSemaphore(seed: UInt64) throws {
    let semaphore = CountingSemaphore(3)
    let inside = Atomic(0)
    try together(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for _ in 0..<(LongTests.operations / 4) {
        let count = Int.random(in: 1...3, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: guard semaphore.tryAcquire(count) else { continue }
        case 1, 2: guard semaphore.acquire(count, until: passed) else { continue }
        default: semaphore.acquire(count)
        }
        let now = inside.add(count, ordering: .relaxed).newValue
        if now > 3 { Issue.record("\(now) permits out at once") }
        if Int.random(in: 0..<256, using: &random) == 0 { SystemThread.yield() }
        inside.subtract(count, ordering: .relaxed)
        semaphore.release(count)
      }
    }
    #expect(semaphore.availablePermits == 3)
    #expect(semaphore.drain() == 3)
  }

  @Test(
    "CountingSemaphore: what was written before a release is seen by all that take of it",
    .endsInTime)
  func releasedTogether() throws {
    let semaphore = CountingSemaphore(0)
    let value = Unguarded(0)
    // Else one might take both permits of a round.
    let end = CyclicBarrier(3)
    let rounds = LongTests.operations / 24
    try together(3) { index in
      for round in 1...rounds {
        switch index {
        case 0:
          value.value = round
          semaphore.release(2)
        // One stands in the queue and is handed its permit, the other takes what is left.
        case 1: semaphore.acquire()
        default:
          var spins = 0
          while !semaphore.tryAcquire() {
            spins += 1
            if spins.isMultiple(of: 256) { SystemThread.yield() }
          }
        }
        if value.value != round { Issue.record("\(value.value) in round \(round)") }
        end.wait()
      }
    }
    #expect(semaphore.availablePermits == 0)
  }

  @Test(
    "ResetEvent: every setting lets one through, with waits that give up",
    .endsInTime)
  func resetEvent() throws {
    let event = ResetEvent(.automatic)
    let taken = ResetEvent(.automatic)
    let value = Unguarded(0)
    let rounds = LongTests.operations / 4
    try together(2) { index in
      for round in 1...rounds {
        if index == 0 {
          value.value = round
          event.set()
          if round.isMultiple(of: 2) { taken.wait() } else { waitImpatiently(taken.wait(until:)) }
        } else {
          if round.isMultiple(of: 3) { event.wait() } else { waitImpatiently(event.wait(until:)) }
          if value.value != round { Issue.record("\(value.value) in round \(round)") }
          taken.set()
        }
      }
    }
    #expect(!event.isSet && !taken.isSet)
  }

  @Test("what is given to one that gives up at that moment is not lost", .endsInTime)
  func givenToThoseThatGiveUp() throws {
    let event = ResetEvent(.automatic)
    try serveThoseThatGiveUp(serve: { event.set() }, wait: { event.wait(until: $0) })
    let parker = Parker()
    try serveThoseThatGiveUp(serve: { parker.unpark() }, wait: { parker.park(until: $0) })
    let semaphore = CountingSemaphore(0)
    try serveThoseThatGiveUp(
      serve: { semaphore.release(2) }, wait: { semaphore.acquire(2, until: $0) })
    let lock = ConditionLock(0)
    try serveThoseThatGiveUp(
      serve: { lock.withLock(when: 0, settingTo: 1) {} },
      wait: {
        guard lock.lock(when: 1, until: $0) else { return false }
        lock.unlock(settingTo: 0)
        return true
      })
    let tokens = Locked(0)
    try serveThoseThatGiveUp(
      serve: { tokens.withLock { $0 += 1 } },
      wait: { tokens.withLock(when: { $0 > 0 }, until: $0) { $0 -= 1 } != nil })
  }

  @Test(
    "CyclicBarrier: those of a meeting are told the same, when it is decided as one gives up",
    .endsInTime)
  func cyclicBarrier() throws {
    let barrier = CyclicBarrier(2)
    let rounds = LongTests.operations / 4
    let isOver = Atomic(false)
    let passages = Atomic(0)
    let acted = try inBackground {
      // Whoever comes here waits for the other without a limit.
      while !isOver.load(ordering: .acquiring) {
        if barrier.wait().isPassed { passages.wrappingAdd(1, ordering: .relaxed) }
      }
    }
    var mine = 0
    var gaveUp = 0
    while mine < rounds {
      // With a limit that has passed, this gives up as the other arrives.
      waitImpatiently { limit in
        let passage = barrier.wait(until: limit)
        if passage.isPassed { mine += 1 } else { barrier.reset() }
        if passage == .timedOut { gaveUp += 1 }
        return passage.isPassed
      }
    }
    #expect(gaveUp > 0)
    isOver.store(true, ordering: .releasing)
    barrier.breakUp()
    acted()
    #expect(passages.load(ordering: .relaxed) == mine)
  }

  @Test(
    "CyclicBarrier: nobody passes before all have come", .endsInTime)
  func cyclicBarrierMeets() throws {
    let parts = (0..<3).map { _ in Unguarded(0) }
    let sum = Unguarded(0)
    let barrier = CyclicBarrier(3) { sum.value = parts.reduce(0) { $0 + $1.value } }
    try together(3) { index in
      for round in 1...(LongTests.operations / 6) {
        parts[index].value = round * (index + 1)
        barrier.wait()
        if sum.value != round * 6 { Issue.record("\(sum.value) in round \(round)") }
        barrier.wait()
      }
    }
  }

  @Test(
    "Phaser: nobody passes before all have come, while one comes and goes",
    .endsInTime, arguments: [UInt64(1)])
  func phaser(seed: UInt64) throws {
    let ended = Unguarded(-1)
    let phaser = Phaser(2) { ended.value = $0 }
    let parts = (0..<2).map { _ in Unguarded(0) }
    let isOver = Atomic(false)
    try together(3) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      guard index < 2 else {
        while !isOver.load(ordering: .relaxed) {
          phaser.register()
          for _ in 0..<Int.random(in: 0...2, using: &random) {
            let phase = phaser.arrive()
            if !phaser.wait(forEndOf: phase, until: passed) { phaser.wait(forEndOf: phase) }
          }
          phaser.arriveAndLeave()
        }
        return
      }
      for round in 1...(LongTests.operations / 6) {
        parts[index].value = round
        let phase = phaser.arriveAndWait()
        if ended.value != phase { Issue.record("passed before the action") }
        if parts[1 - index].value != round { Issue.record("passed before the other had come") }
        phaser.arriveAndWait()
      }
      isOver.store(true, ordering: .relaxed)
      phaser.arriveAndLeave()
    }
    #expect(phaser.parties == 0)
  }

  @Test(
    "Exchanger: values are swapped in pairs, with waits that give up",
    .endsInTime, arguments: [UInt64(1)])
  func exchanger(seed: UInt64) throws {
    let exchanger = Exchanger<Int>()
    let given = Atomic(0)
    let received = Atomic(0)
    // A pair that both sides agree on cancels itself.
    let pairs = Atomic(0)
    let swaps = Atomic(0)
    try together(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for round in 0..<(LongTests.operations / 4) {
        let mine = round * 4 + index
        let limit =
          Int.random(in: 0..<4, using: &random) == 0
          ? MonotonicInstant.now.advanced(by: .microseconds(50)) : passed
        guard let other = exchanger.exchange(mine, until: limit) else { continue }
        swaps.wrappingAdd(1, ordering: .relaxed)
        given.wrappingAdd(mine.mixed, ordering: .relaxed)
        received.wrappingAdd(other.mixed, ordering: .relaxed)
        pairs.bitwiseXor((max(mine, other).mixed &+ min(mine, other)).mixed, ordering: .relaxed)
      }
    }
    #expect(swaps.load(ordering: .relaxed) > 0)
    #expect(given.load(ordering: .relaxed) == received.load(ordering: .relaxed))
    #expect(pairs.load(ordering: .relaxed) == 0)
  }

  @Test(
    "Parker: a permit is never lost, with waits that give up",
    .endsInTime)
  func parker() throws {
    let parkers = [Parker(), Parker()]
    let turn = Unguarded(0)
    let rounds = LongTests.operations / 4
    try together(2) { index in
      for round in 0..<rounds {
        if index == 1 || round > 0 {
          if round.isMultiple(of: 3) {
            parkers[index].park()
          } else {
            waitImpatiently(parkers[index].park(until:))
          }
        }
        if turn.value != index { Issue.record("out of turn") }
        turn.value = 1 - index
        parkers[1 - index].unpark()
      }
    }
  }

  @Test(
    "CountdownLatch: opens at zero, and those that wait see all that was done",
    .endsInTime)
  func countdownLatch() throws {
    let parts = (0..<3).map { _ in Unguarded(0) }
    // The second latch keeps the next round's writing from this one's reading.
    try inRounds(LongTests.operations / 12, threads: 3) {
      (CountdownLatch(3), CountdownLatch(3))
    } _: { index, round, latches in
      parts[index].value = round
      latches.0.countDown()
      if round.isMultiple(of: index + 2) { waitImpatiently(latches.0.wait(until:)) }
      latches.0.wait()
      if parts.contains(where: { $0.value != round }) { Issue.record("a part is missing") }
      latches.1.countDownAndWait()
    }
  }

  @Test(
    "OnceFlag and LazyValue: done once, whoever fails before",
    .endsInTime)
  func once() throws {
    struct Refusal: Error {}
    final class Shared: Sendable {
      let flag = OnceFlag()
      let attempts = Unguarded(0)
      let lazy = LazyValue { [1, 2] }
    }
    let ran = Atomic(0)
    let rounds = LongTests.operations / 6
    try inRounds(rounds, threads: 3) {
      Shared()
    } _: { _, round, shared in
      while true {
        do {
          let mine = try shared.flag.runOnce { () throws(Refusal) in
            shared.attempts.value += 1
            if shared.attempts.value <= round % 3 { throw Refusal() }
          }
          if mine { ran.wrappingAdd(1, ordering: .relaxed) }
          break
        } catch {
          continue
        }
      }
      if shared.attempts.value != round % 3 + 1 {
        Issue.record("\(shared.attempts.value) attempts")
      }
      if shared.lazy.value.count != 2 { Issue.record("another value") }
    }
    #expect(ran.load(ordering: .relaxed) == rounds)
  }
}
