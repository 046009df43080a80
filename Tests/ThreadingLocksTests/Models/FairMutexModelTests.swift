import TestSupport
import Testing

@Suite("Every interleaving of the fair mutex", .endsInTime)
struct FairMutexModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// The owner is cleared after the permit has been given back.
    case clearsTheOwnerLate
    /// The owner is never cleared.
    case keepsTheOwner
    /// The permit is put back for anybody, not handed to the first that waits.
    case putsThePermitBack
    /// One that gives up does not look whether it has the permit.
    case givesUpBlindly
  }

  private enum Step: Hashable, Sendable {
    case look(left: Int), take(left: Int), sleep(ModelQueue.Wait, left: Int)
    case leave(ModelQueue.Wait, left: Int), own(left: Int), held(left: Int), check(left: Int)
    case clear(left: Int), release(left: Int), lateClear(left: Int), stopped, done
  }

  private struct Shared: Hashable {
    var permits = 1
    var queue = ModelQueue()
    var owner = 0
    var isOvertaken = false
  }

  /// Threads that take the lock `rounds` times each; giving permits in order is the semaphore's own
  /// model, and one step here.
  private func verdict(
    threads: Int, rounds: Int, timed: Set<Int> = [], _ fault: Fault = .none
  ) -> Verdict {
    explore(
      Program(Shared(), [Step](repeating: .look(left: rounds), count: threads), end: .done) {
        thread, step, shared in
        var next = shared
        let me = thread + 1
        func again(_ left: Int) -> [(Step, Shared)] {
          [(left > 1 ? .look(left: left - 1) : .done, next)]
        }
        switch step {
        case .look(let left):
          return [(next.owner == me ? .stopped : .take(left: left), next)]
        case .take(let left):
          if next.permits == 1 && (next.queue.waits.isEmpty || fault == .putsThePermitBack) {
            if !next.queue.waits.isEmpty { next.isOvertaken = true }
            next.permits = 0
            return [(.own(left: left), next)]
          }
          let wait = next.queue.makeWait(thread)
          next.queue.append(wait)
          return [(.sleep(wait, left: left), next)]
        case .sleep(let wait, let left):
          if next.queue.isGranted(wait) { return [(.own(left: left), next)] }
          if fault == .putsThePermitBack && next.permits == 1 {
            _ = next.queue.remove(wait)
            next.permits = 0
            return [(.own(left: left), next)]
          }
          return timed.contains(thread) ? [(.leave(wait, left: left), next)] : []
        case .leave(let wait, let left):
          let isThere = next.queue.remove(wait)
          if isThere || fault == .givesUpBlindly { return again(left) }
          return [(.own(left: left), next)]
        case .own(let left):
          next.owner = me
          return [(.held(left: left), next)]
        case .held(let left):
          return [(.check(left: left), next)]
        case .check(let left):
          guard next.owner == me else { return [(.stopped, next)] }
          return [(fault == .clearsTheOwnerLate ? .release(left: left) : .clear(left: left), next)]
        case .clear(let left):
          if fault != .keepsTheOwner { next.owner = 0 }
          return [(.release(left: left), next)]
        case .release(let left):
          if let first = next.queue.waits.first, fault != .putsThePermitBack {
            _ = next.queue.remove(first)
            next.queue.grant(first)
          } else {
            next.permits = 1
          }
          return fault == .clearsTheOwnerLate ? [(.lateClear(left: left), next)] : again(left)
        case .lateClear(let left):
          next.owner = 0
          return again(left)
        case .stopped, .done:
          return []
        }
      } rule: { shared, steps in
        if steps.contains(.stopped) { return "misuse is found where there is none" }
        let inside = steps.filter {
          if case .held = $0 { return true }
          return false
        }
        if inside.count > 1 { return "two threads inside" }
        return shared.isOvertaken ? "a newcomer went first" : nil
      })
  }

  @Test("one at a time, in order, and nobody is taken for another")
  func sound() {
    for (threads, rounds, timed) in [
      (2, 2, []), (3, 1, []), (3, 2, [1]), (3, 1, [0, 1, 2]),
    ] as [(Int, Int, Set<Int>)] {
      let verdict = verdict(threads: threads, rounds: rounds, timed: timed)
      #expect(verdict.isSound, "\(threads) \(rounds) \(timed): \(verdict)")
    }
  }

  @Test("a fair mutex with a fault is found out")
  func faults() {
    #expect(verdict(threads: 2, rounds: 2, .clearsTheOwnerLate).isViolated)
    #expect(verdict(threads: 1, rounds: 2, .keepsTheOwner).isViolated)
    #expect(verdict(threads: 3, rounds: 1, .putsThePermitBack).isViolated)
    #expect(verdict(threads: 3, rounds: 1, timed: [1], .givesUpBlindly).isStuck)
  }
}
