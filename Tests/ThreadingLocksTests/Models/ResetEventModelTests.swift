import TestSupport
import Testing

@Suite("Every interleaving of the event", .endsInTime)
struct ResetEventModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// One that joins the queue does not look again whether the event has been set.
    case joinsWithoutLooking
    /// One that gives up does not look whether it has been let through meanwhile.
    case givesUpBlindly
    /// Setting stores the flag, whoever waits.
    case setsBeforeAnyQueue
    /// An automatic event lets all through that wait.
    case letsAllThrough
    /// An automatic event is taken by a look and a store.
    case takesInTwoSteps
  }

  private enum Step: Hashable, Sendable {
    case tryWait, take, join, sleep(ModelQueue.Wait), leave(ModelQueue.Wait)
    case set, grant([ModelQueue.Wait]), reset, done
  }

  private struct Event: Hashable {
    var isSet = false
    var queue = ModelQueue()
    /// How often set() let a thread through or made the flag true.
    var given = 0
    /// How many waits were let through.
    var passed = 0
    /// How often reset() found the event set.
    var wasReset = 0
  }

  /// Threads that wait, those of which a number is in `timed` perhaps not to the end, beside `sets`
  /// threads that set the event once, and `resets` that reset it. If `inTurn`, the event is set only
  /// while it is not set: otherwise two settings may become one.
  private func verdict(
    isAutomatic: Bool, waiters: Int, timed: Set<Int> = [], sets: Int, resets: Int = 0,
    inTurn: Bool = false, _ fault: Fault = .none
  ) -> Verdict {
    let steps =
      [Step](repeating: .tryWait, count: waiters) + [Step](repeating: .set, count: sets)
      + [Step](repeating: .reset, count: resets)
    return explore(
      Program(Event(), steps, end: .done) { thread, step, shared in
        var next = shared
        func pass() -> [(Step, Event)] {
          next.passed += 1
          return [(.done, next)]
        }
        switch step {
        case .tryWait:
          guard next.isSet else { return [(.join, next)] }
          if isAutomatic && fault == .takesInTwoSteps { return [(.take, next)] }
          if isAutomatic { next.isSet = false }
          return pass()
        case .take:
          next.isSet = false
          return pass()
        case .join:
          // With the lock of the queue held, as leave and set.
          if next.isSet && fault != .joinsWithoutLooking {
            if isAutomatic { next.isSet = false }
            return pass()
          }
          let wait = next.queue.makeWait(thread)
          next.queue.append(wait)
          return [(.sleep(wait), next)]
        case .sleep(let wait):
          if next.queue.isGranted(wait) { return pass() }
          return timed.contains(thread) ? [(.leave(wait), next)] : []
        case .leave(let wait):
          let isThere = next.queue.remove(wait)
          if isThere || fault == .givesUpBlindly { return [(.done, next)] }
          return pass()
        case .set:
          if inTurn && next.isSet { return [] }
          var granted: [ModelQueue.Wait] = []
          while let first = next.queue.waits.first, fault != .setsBeforeAnyQueue {
            _ = next.queue.remove(first)
            granted.append(first)
            next.given += 1
            if isAutomatic && fault != .letsAllThrough { return [(.grant(granted), next)] }
          }
          if isAutomatic && !granted.isEmpty { return [(.grant(granted), next)] }
          if !next.isSet { next.given += 1 }
          next.isSet = true
          return [(.grant(granted), next)]
        case .grant(let granted):
          guard let first = granted.first else { return [(.done, next)] }
          next.queue.grant(first)
          return [(.grant(Array(granted.dropFirst())), next)]
        case .reset:
          if next.isSet { next.wasReset += 1 }
          next.isSet = false
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { event, steps in
        if event.isSet && !event.queue.waits.isEmpty && fault != .setsBeforeAnyQueue {
          return "set, and threads wait"
        }
        guard isAutomatic else { return nil }
        if event.passed > sets { return "more went through than it was set for" }
        guard steps.allSatisfy({ $0 == .done }) else { return nil }
        let accounted = event.passed + event.wasReset + (event.isSet ? 1 : 0)
        return accounted == event.given ? nil : "a setting of the event went astray"
      })
  }

  @Test("an automatic event lets one through for each setting, and none goes astray")
  func automatic() {
    for (waiters, timed, sets, resets) in [
      (1, [], 1, 0), (3, [0, 1, 2], 2, 0), (2, [0, 1], 2, 1),
    ] as [(Int, Set<Int>, Int, Int)] {
      let verdict = verdict(
        isAutomatic: true, waiters: waiters, timed: timed, sets: sets, resets: resets)
      #expect(verdict.isSound, "\(waiters) \(timed) \(sets) \(resets): \(verdict)")
    }
    for (waiters, timed) in [(2, []), (2, [1]), (3, [])] as [(Int, Set<Int>)] {
      let verdict = verdict(
        isAutomatic: true, waiters: waiters, timed: timed, sets: waiters, inTurn: true)
      #expect(verdict.isSound, "\(waiters) \(timed): \(verdict)")
    }
  }

  @Test("a manual event lets everybody through that waits, even when it is reset at once")
  func manual() {
    for timed in [[], [0, 2]] as [Set<Int>] {
      let verdict = verdict(isAutomatic: false, waiters: 3, timed: timed, sets: 1)
      #expect(verdict.isSound, "\(verdict)")
    }
    let reset = verdict(isAutomatic: false, waiters: 3, timed: [0, 1, 2], sets: 1, resets: 1)
    #expect(reset.isSound, "\(reset)")
  }

  @Test("an event with a fault is found out")
  func faults() {
    #expect(!verdict(isAutomatic: false, waiters: 1, sets: 1, .joinsWithoutLooking).isSound)
    #expect(
      verdict(isAutomatic: true, waiters: 1, timed: [0], sets: 1, .givesUpBlindly).isViolated)
    #expect(verdict(isAutomatic: false, waiters: 1, sets: 1, .setsBeforeAnyQueue).isStuck)
    #expect(
      verdict(isAutomatic: true, waiters: 2, timed: [0, 1], sets: 1, .letsAllThrough).isViolated)
    #expect(
      verdict(isAutomatic: true, waiters: 2, timed: [0, 1], sets: 1, .takesInTwoSteps).isViolated)
  }
}
