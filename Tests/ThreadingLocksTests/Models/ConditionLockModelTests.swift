import TestSupport
import Testing

@Suite("Every interleaving of the lock with a state", .endsInTime)
struct ConditionLockModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// One that gives up does not look whether it has been handed the lock meanwhile.
    case givesUpBlindly
    /// The lock is handed to the first that waits, whatever it wants.
    case handsToTheFirst
    /// The lock is free until the one that it is handed to has woken up.
    case staysFreeWhenHanded
    /// A newcomer takes the free lock, whatever its state.
    case takesAnyState
    /// The one that is chosen stays in the queue.
    case leavesItQueued
  }

  /// One taking of the lock: in which state (nil: any), and which it leaves (nil: the same).
  private struct Turn: Hashable, Sendable {
    let wanted: Int?
    let next: Int?

    init(_ wanted: Int?, _ next: Int?) {
      self.wanted = wanted
      self.next = next
    }
  }

  private enum Step: Hashable, Sendable {
    case take(turn: Int), sleep(ModelQueue.Wait, turn: Int), leave(ModelQueue.Wait, turn: Int)
    case held(turn: Int), grant(ModelQueue.Wait, turn: Int), done
  }

  private struct Interior: Hashable {
    /// The thread that holds the lock, from 1, or 0.
    var owner = 0
    var state = 0
    var queue = ModelQueue()
    /// In which turn each thread of the queue is.
    var turns: [ModelQueue.Wait: Int] = [:]
  }

  private func verdict(
    _ threads: [[Turn]], timed: Set<Int> = [], _ fault: Fault = .none
  ) -> Verdict {
    explore(
      Program(
        Interior(), [Step](repeating: .take(turn: 0), count: threads.count), end: .done
      ) { thread, step, shared in
        var next = shared
        func after(_ turn: Int) -> Step {
          turn + 1 < threads[thread].count ? .take(turn: turn + 1) : .done
        }
        func isMet(_ thread: Int, _ turn: Int) -> Bool {
          let wanted = threads[thread][turn].wanted
          return wanted == nil || wanted == next.state
        }
        switch step {
        case .take(let turn):
          if next.owner == 0 && (isMet(thread, turn) || fault == .takesAnyState) {
            next.owner = thread + 1
            return [(.held(turn: turn), next)]
          }
          let wait = next.queue.makeWait(thread)
          next.queue.append(wait)
          next.turns[wait] = turn
          return [(.sleep(wait, turn: turn), next)]
        case .sleep(let wait, let turn):
          var results: [(Step, Interior)] = []
          if next.queue.isGranted(wait) {
            if fault == .staysFreeWhenHanded { next.owner = thread + 1 }
            results.append((.held(turn: turn), next))
          } else if timed.contains(thread) {
            results.append((.leave(wait, turn: turn), next))
          }
          return results
        case .leave(let wait, let turn):
          let isThere = next.queue.remove(wait)
          return [(isThere || fault == .givesUpBlindly ? after(turn) : .held(turn: turn), next)]
        case .held(let turn):
          if let state = threads[thread][turn].next { next.state = state }
          let chosen = next.queue.waits.first {
            fault == .handsToTheFirst || isMet($0.thread, next.turns[$0] ?? 0)
          }
          guard let chosen else {
            next.owner = 0
            return [(after(turn), next)]
          }
          if fault != .leavesItQueued { _ = next.queue.remove(chosen) }
          next.owner = fault == .staysFreeWhenHanded ? 0 : chosen.thread + 1
          return [(.grant(chosen, turn: turn), next)]
        case .grant(let wait, let turn):
          next.queue.grant(wait)
          return [(after(turn), next)]
        case .done:
          return []
        }
      } rule: { interior, steps in
        var holders = 0
        for (thread, step) in steps.enumerated() {
          guard case .held(let turn) = step else { continue }
          holders += 1
          if interior.owner != thread + 1 { return "held by one that is not the owner" }
          if let wanted = threads[thread][turn].wanted, wanted != interior.state {
            return "held in another state than was wanted"
          }
        }
        if holders > 1 { return "two threads inside" }
        if interior.owner != 0 && steps.allSatisfy({ $0 == .done }) { return "held by nobody" }
        if interior.owner == 0 && fault != .staysFreeWhenHanded {
          for wait in interior.queue.waits {
            let wanted = threads[wait.thread][interior.turns[wait] ?? 0].wanted
            if wanted == nil || wanted == interior.state { return "free, and one waits that could" }
          }
        }
        return nil
      })
  }

  @Test("one thread is inside, in the state it wants, and nobody waits for what is there")
  func sound() {
    let writer = [Turn(0, 1), Turn(0, 1)]
    let reader = [Turn(1, 0), Turn(1, 0)]
    for (threads, timed) in [
      ([writer, reader], []), ([[Turn(nil, nil)], [Turn(nil, nil)], [Turn(nil, 1)]], []),
      ([writer, reader, [Turn(nil, nil), Turn(nil, nil)]], []),
      ([[Turn(0, 1)], [Turn(1, 2)], [Turn(2, 0)], [Turn(nil, nil)]], []),
      ([writer, reader, [Turn(1, 1), Turn(nil, nil)]], [2]),
      ([[Turn(nil, 1)], [Turn(1, 0)], [Turn(1, nil)]], [1, 2]),
    ] as [([[Turn]], Set<Int>)] {
      let verdict = verdict(threads, timed: timed)
      #expect(verdict.isSound, "\(threads) \(timed): \(verdict)")
    }
  }

  @Test("a lock with a fault is found out")
  func faults() {
    let any = [Turn(nil, nil)]
    #expect(!verdict([any, any, any], timed: [1], .givesUpBlindly).isSound)
    #expect(
      verdict([[Turn(0, 0)], [Turn(1, 0)], [Turn(nil, 1)]], .handsToTheFirst).isViolated)
    #expect(verdict([any, any, any], .staysFreeWhenHanded).isViolated)
    #expect(verdict([[Turn(1, 1)], [Turn(0, 1)]], .takesAnyState).isViolated)
    #expect(!verdict([any, any, any], .leavesItQueued).isSound)
  }
}
