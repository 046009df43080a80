import TestSupport
import Testing

@Suite("Every interleaving of a waiter and a meeting", .endsInTime)
struct WaiterModelTests {
  // MARK: Waiter

  private enum WaiterFault: Hashable, Sendable {
    case none
    /// The granter stores instead of swapping, and does not know that somebody sleeps.
    case storesTheGrant
    /// The thread falls asleep without looking whether it has been granted meanwhile.
    case fallsAsleepBlindly
    /// The thread that gives up does not look whether it is still in the queue.
    case givesUpBlindly
    /// The granter takes it out of the queue only after it has granted.
    case dequeuesLate
  }

  private enum WaiterStep: Hashable, Sendable {
    case fallAsleep, wait, asleep, look, leave
    case dequeue, exchange, wake, lateDequeue, done
  }

  private struct Waiting: Hashable {
    /// 0 awake, 1 asleep, 2 granted.
    var state = ModelWord(0)
    var isQueued = true
    var isTaken = false
    var interruptions = 1
    /// What the wait came to: nil while it lasts.
    var answer: Bool?
  }

  /// One thread that waits, perhaps for a time, and one that grants it if it is in the queue.
  private func waiter(isTimed: Bool, _ fault: WaiterFault = .none) -> Verdict {
    explore(
      Program(Waiting(), [WaiterStep.fallAsleep, .dequeue], end: .done) { thread, step, shared in
        var next = shared
        switch step {
        case .fallAsleep:
          if fault == .fallsAsleepBlindly {
            next.state.value = 1
            return [(.wait, next)]
          }
          if next.state.compareExchange(0, 1) == 2 {
            next.answer = true
            return [(.done, next)]
          }
          return [(.wait, next)]
        case .wait:
          next.state.wait(thread, while: 1)
          return [(.asleep, next)]
        case .asleep:
          guard next.state.isAsleep(thread) else { return [(.fallAsleep, next)] }
          var results: [(WaiterStep, Waiting)] = []
          if next.interruptions > 0 {
            var interrupted = next
            interrupted.interruptions -= 1
            interrupted.state.timeOut(thread)
            results.append((.fallAsleep, interrupted))
          }
          if isTimed {
            next.state.timeOut(thread)
            results.append((.look, next))
          }
          return results
        case .look:
          guard next.state.value == 2 else { return [(.leave, next)] }
          next.answer = true
          return [(.done, next)]
        case .leave:
          // Under the lock of the queue: still in it, or granted after all.
          next.answer = fault == .givesUpBlindly ? false : !next.isQueued
          next.isQueued = false
          return [(.done, next)]
        case .dequeue:
          guard next.isQueued else { return [(.done, next)] }
          next.isTaken = true
          if fault != .dequeuesLate { next.isQueued = false }
          return [(.exchange, next)]
        case .exchange:
          let before = next.state.value
          next.state.value = 2
          let mustWake = before == 1 && fault != .storesTheGrant
          return [(mustWake ? .wake : .lateDequeue, next)]
        case .wake:
          next.state.wake(1)
          return [(.lateDequeue, next)]
        case .lateDequeue:
          next.isQueued = false
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { waiting, steps in
        guard steps.allSatisfy({ $0 == .done }) else { return nil }
        return waiting.answer == waiting.isTaken ? nil : "granter and waiter disagree"
      })
  }

  @Test("a waiter and its granter agree whether it was granted, and it does not sleep on")
  func waiterIsSound() {
    for isTimed in [false, true] {
      let verdict = waiter(isTimed: isTimed)
      #expect(verdict.isSound, "\(verdict)")
    }
  }

  @Test("a waiter with a fault is found out")
  func waiterFaults() {
    #expect(waiter(isTimed: false, .storesTheGrant).isStuck)
    #expect(waiter(isTimed: false, .fallsAsleepBlindly).isStuck)
    #expect(waiter(isTimed: true, .givesUpBlindly).isViolated)
    #expect(waiter(isTimed: true, .dequeuesLate).isViolated)
  }

  // MARK: Meeting

  private enum MeetingStep: Hashable, Sendable {
    case mark, sleep, asleep, end, wake, done
  }

  /// Two threads wait for the end of a meeting that a third one tells.
  private func meeting(wakesAll: Bool = true, swapsAtTheEnd: Bool = true) -> Verdict {
    explore(
      Program(ModelWord(0), [MeetingStep.mark, .mark, .end], end: .done) { thread, step, shared in
        var word = shared
        switch step {
        case .mark:
          let seen = word.compareExchange(0, 1)
          return [(seen > 1 ? .done : .sleep, word)]
        case .sleep:
          word.wait(thread, while: 1)
          return [(.asleep, word)]
        case .asleep:
          return word.isAsleep(thread) ? [] : [(.mark, word)]
        case .end:
          let before = word.value
          word.value = 2
          return [(before == 1 && swapsAtTheEnd ? .wake : .done, word)]
        case .wake:
          word.wake(wakesAll ? .max : 1)
          return [(.done, word)]
        case .done:
          return []
        }
      } rule: { word, steps in
        steps[..<2].contains(.done) && word.value < 2 ? "went on before the end" : nil
      })
  }

  @Test("the end of a meeting reaches all, and nobody goes on before it")
  func meetingIsSound() {
    let verdict = meeting()
    #expect(verdict.isSound, "\(verdict)")
    #expect(meeting(wakesAll: false).isStuck)
    #expect(meeting(swapsAtTheEnd: false).isStuck)
  }
}
