import TestSupport
import Testing

// Ending a thread's wait from outside: the steps of WaitInterruption and of Futex.wait, with a lock
// whose word is slept on.

@Suite("Every interleaving of ending a wait", .endsInTime)
struct InterruptionModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// The thread looks for a request before it announces where it sleeps.
    case looksFirst
    /// The interrupter wakes once and does not wait for the thread to be up.
    case wakesOnce
    /// The thread does not take its announcement back.
    case keepsAnnouncement
    /// A thread that was woken and then finds the request leaves without the mark that has the next
    /// owner wake another.
    case leavesUnmarked
  }

  private enum Step: Hashable, Sendable {
    // A thread that wants the lock, as FastMutex has it: 0 free, 1 held, 2 held with sleepers.
    case look(mark: Bool), mark(hasSlept: Bool), ask, announce, sleep, asleep, withdraw, acknowledge
    case giveUp
    case unlock, wakeOne, tryOnce
    // The interrupter.
    case request, wake, await
    case done
  }

  private struct Shared: Hashable {
    var lock = ModelWord(1)
    /// 0 idle, 1 announced, 3 waking, 2 asked; the interrupter sleeps on it.
    var word = ModelWord(0)
    var isInside = 0
    var hasGivenUp = false
  }

  /// Thread 0 holds the lock at first; thread 1 waits and can be interrupted; thread 2 waits and
  /// cannot; thread 3 takes the lock if it finds it free; thread 4 interrupts.
  private func verdict(_ fault: Fault = .none, others: Bool = true, unlocks: Bool = true) -> Verdict
  {
    var steps: [Step] = [unlocks ? .unlock : .done, .look(mark: false)]
    steps += others ? [.look(mark: false), .tryOnce] : [.done, .done]
    steps.append(.request)
    var initial = Shared()
    initial.isInside = 1
    return explore(
      Program(initial, steps, end: .done) { thread, step, shared in
        var next = shared
        let isInterruptible = thread == 1
        switch step {
        case .look(let mark):
          if next.lock.compareExchange(0, mark ? 2 : 1) == 0 {
            next.isInside += 1
            return [(.unlock, next)]
          }
          return [(.mark(hasSlept: mark), next)]
        case .mark(let hasSlept):
          if isInterruptible && fault == .leavesUnmarked && hasSlept && next.word.value & 2 != 0 {
            return [(.giveUp, next)]
          }
          if next.lock.value == 0 { return [(.look(mark: hasSlept), next)] }
          next.lock.value = 2
          if !isInterruptible { return [(.sleep, next)] }
          return [(fault == .looksFirst ? .ask : .announce, next)]
        case .ask:
          return [(next.word.value & 2 != 0 ? .giveUp : .announce, next)]
        case .announce:
          if fault == .looksFirst {
            next.word.value |= 1
            return [(.sleep, next)]
          }
          guard next.word.compareExchange(0, 1) == 0 else {
            return [(next.lock.value == 2 ? .giveUp : .look(mark: true), next)]
          }
          return [(.sleep, next)]
        case .sleep:
          next.lock.wait(thread, while: 2)
          return [(.asleep, next)]
        case .asleep:
          if next.lock.isAsleep(thread) { return [] }
          return [(isInterruptible ? .withdraw : .look(mark: true), next)]
        case .withdraw:
          if fault == .keepsAnnouncement { return [(.look(mark: true), next)] }
          let before = next.word.value
          next.word.value &= ~1
          return [(before == 3 ? .acknowledge : .look(mark: true), next)]
        case .acknowledge:
          next.word.wake()
          return [(.look(mark: true), next)]
        case .giveUp:
          next.hasGivenUp = true
          return [(.done, next)]
        case .unlock:
          let before = next.lock.value
          next.lock.value = 0
          next.isInside -= 1
          return [(before == 2 ? .wakeOne : .done, next)]
        case .tryOnce:
          guard next.lock.compareExchange(0, 1) == 0 else { return [(.done, next)] }
          next.isInside += 1
          return [(.unlock, next)]
        case .wakeOne:
          next.lock.wake(1)
          return [(.done, next)]
        case .request:
          let before = next.word.value
          next.word.value |= 2
          return [(before == 1 ? .wake : .done, next)]
        case .wake:
          next.lock.wake()
          return [(fault == .wakesOnce ? .done : .await, next)]
        case .await:
          if next.word.isAsleep(thread) {
            // The pause between two wakes is over.
            next.word.timeOut(thread)
            return [(.wake, next)]
          }
          guard next.word.value == 3 else { return [(.done, next)] }
          next.word.wait(thread, while: 3)
          return [(.await, next)]
        case .done:
          return []
        }
      } rule: { shared, _ in
        shared.isInside > 1 ? "two threads hold the lock" : nil
      })
  }

  @Test("the wait always ends, the interrupter too, and no wake for another is lost")
  func sound() {
    for (others, unlocks) in [(true, true), (false, false)] {
      let verdict = verdict(others: others, unlocks: unlocks)
      #expect(verdict.isSound, "\(verdict)")
    }
  }

  @Test("steps in another order or left out are found")
  func faults() {
    #expect(verdict(.looksFirst, others: false, unlocks: false).isStuck)
    #expect(verdict(.wakesOnce, others: false, unlocks: false).isStuck)
    #expect(!verdict(.keepsAnnouncement, others: false, unlocks: false).isSound)
    #expect(verdict(.leavesUnmarked).isStuck)
  }
}
