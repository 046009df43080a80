import TestSupport
import Testing

@Suite("Every interleaving of waiting for what holds of a value", .endsInTime)
struct LockedWhenModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// Whoever gives the lock back wakes nobody.
    case asksNobody
    /// One that was woken takes its place at the end when it has to wait on.
    case losesItsPlace
    /// The next is woken although one is on its way.
    case wakesSeveral
    /// One that was woken and gives up does not say that it is no longer on its way.
    case staysOnItsWay
    /// One that gives up gives the lock back without asking the others.
    case leavesSilently
  }

  private enum Step: Hashable, Sendable {
    case enter, sleep(ModelQueue.Wait), reenter(ModelQueue.Wait, wasWoken: Bool)
    case add(left: Int), grant(ModelQueue.Wait, then: Next), done
  }

  /// What a thread does after it has told the one that it chose.
  private enum Next: Hashable, Sendable {
    case done
    case sleep(ModelQueue.Wait)
    case add(left: Int)
  }

  private struct Shared: Hashable {
    var tokens = 0
    var queue = ModelQueue()
    var isOneOnItsWay = false
    var consumed = 0
    /// The threads that wait, in the order in which they began to, the woken ones among them.
    var line: [Int] = []
    /// Whether one that had been woken was served before one that had come before it.
    var isOvertaken = false
    var leftInVain = false
  }

  /// Threads that take a token each, those of which a number is in `timed` perhaps none, and one
  /// that adds `added`, one after the other.
  private func verdict(
    takers: Int, timed: Set<Int> = [], added: Int, _ fault: Fault = .none
  ) -> Verdict {
    let steps = [Step](repeating: .enter, count: takers) + [.add(left: added)]
    return explore(
      Program(Shared(), steps, end: .done) { thread, step, shared in
        var next = shared
        func following(_ then: Next) -> Step {
          switch then {
          case .done: .done
          case .sleep(let wait): .sleep(wait)
          case .add(let left): .add(left: left)
          }
        }
        /// What giving the lock back leads to.
        func giveBack(_ then: Next) -> [(Step, Shared)] {
          guard fault != .asksNobody, !next.isOneOnItsWay || fault == .wakesSeveral,
            next.tokens > 0, let first = next.queue.waits.first
          else { return [(following(then), next)] }
          _ = next.queue.remove(first)
          next.isOneOnItsWay = true
          return [(.grant(first, then: then), next)]
        }
        switch step {
        case .enter:
          // One step from taking the lock to giving it back: nobody sees anything in between.
          if next.tokens > 0 {
            next.tokens -= 1
            next.consumed += 1
            return giveBack(.done)
          }
          let wait = next.queue.makeWait(thread)
          next.queue.append(wait)
          next.line.append(thread)
          return giveBack(.sleep(wait))
        case .sleep(let wait):
          if next.queue.isGranted(wait) { return [(.reenter(wait, wasWoken: true), next)] }
          return timed.contains(thread) ? [(.reenter(wait, wasWoken: false), next)] : []
        case .reenter(let wait, let wasWoken):
          let isThere = next.queue.remove(wait)
          if !isThere && (wasWoken || fault != .staysOnItsWay) { next.isOneOnItsWay = false }
          if next.tokens > 0 {
            // Those that give up may go at any time; the others in the order of their coming.
            if !isThere, next.line.first != thread { next.isOvertaken = true }
            next.line.removeAll { $0 == thread }
            next.tokens -= 1
            next.consumed += 1
            return giveBack(.done)
          }
          if !wasWoken {
            next.line.removeAll { $0 == thread }
            return fault == .leavesSilently ? [(.done, next)] : giveBack(.done)
          }
          let again = next.queue.makeWait(thread)
          if fault == .losesItsPlace { next.queue.append(again) } else { next.queue.prepend(again) }
          return giveBack(.sleep(again))
        case .grant(let wait, let then):
          next.queue.grant(wait)
          return [(following(then), next)]
        case .add(let left):
          next.tokens += 1
          return giveBack(left > 1 ? .add(left: left - 1) : .done)
        case .done:
          return []
        }
      } rule: { shared, steps in
        if shared.isOvertaken { return "one that came later was woken before" }
        if shared.tokens > 0 && !shared.isOneOnItsWay && !shared.queue.waits.isEmpty
          && fault != .asksNobody
        {
          return "the lock is free, a condition holds, and nobody is on its way"
        }
        return nil
      })
  }

  @Test("a condition that holds wakes the first that waits for it, and none is left asleep")
  func sound() {
    for (takers, timed, added) in [
      (2, [], 2), (3, [], 3), (3, [2], 3), (3, [0, 1], 3), (3, [0, 1, 2], 2), (3, [1], 4),
    ] as [(Int, Set<Int>, Int)] {
      let verdict = verdict(takers: takers, timed: timed, added: added)
      #expect(verdict.isSound, "\(takers) \(timed) \(added): \(verdict)")
    }
  }

  @Test("a fault is found out")
  func faults() {
    #expect(verdict(takers: 1, added: 1, .asksNobody).isStuck)
    #expect(verdict(takers: 3, added: 3, .losesItsPlace).isViolated)
    #expect(verdict(takers: 3, added: 3, .wakesSeveral).isViolated)
    #expect(!verdict(takers: 2, timed: [0], added: 1, .staysOnItsWay).isSound)
    #expect(!verdict(takers: 3, timed: [0], added: 2, .leavesSilently).isSound)
  }
}
