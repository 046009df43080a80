import TestSupport
import Testing

@Suite("Every interleaving of barrier and phaser", .endsInTime)
struct BarrierModelTests {
  // MARK: CyclicBarrier

  private enum BarrierFault: Hashable, Sendable {
    case none
    /// One that gives up breaks the barrier without looking whether its meeting is decided.
    case breaksBlindly
    /// The last to arrive lets the others go before its action.
    case endsBeforeTheAction
    /// The last to arrive leaves its meeting in place for those that come next.
    case keepsTheMeeting
    /// One that gives up tells nobody.
    case breaksSilently
  }

  private enum BarrierStep: Hashable, Sendable {
    case arrive(left: Int), act(meeting: Int, left: Int), end(meeting: Int, passed: Bool, left: Int)
    case asleep(meeting: Int, left: Int), giveUp(meeting: Int, left: Int)
    case decided(meeting: Int, left: Int)
    case reset, done
  }

  private enum Answer: Hashable, Sendable { case passedLast, passed, timedOut, broken }

  private struct Barrier: Hashable {
    var arrived = 0
    var meeting = 0
    var isBroken = false
    /// How each meeting that has been told ended.
    var told: [Int: Bool] = [:]
    var acted: Set<Int> = []
    /// What those of each meeting were told.
    var answers: [Int: [Answer]] = [:]

    mutating func nextMeeting() {
      arrived = 0
      meeting += 1
    }
  }

  /// Threads that meet `rounds` times each, and perhaps one that resets the barrier.
  private func barrier(
    parties: Int, threads: Int, rounds: Int, timed: Set<Int> = [], resets: Int = 0,
    _ fault: BarrierFault = .none
  ) -> Verdict {
    let steps =
      [BarrierStep](repeating: .arrive(left: rounds), count: threads)
      + [BarrierStep](repeating: .reset, count: resets)
    return explore(
      Program(Barrier(), steps, end: .done) { thread, step, shared in
        var next = shared
        func again(_ left: Int) -> [(BarrierStep, Barrier)] {
          [(left > 1 ? .arrive(left: left - 1) : .done, next)]
        }
        func answer(_ answer: Answer, _ meeting: Int, _ left: Int) -> [(BarrierStep, Barrier)] {
          next.answers[meeting, default: []].append(answer)
          return again(left)
        }
        switch step {
        case .arrive(let left):
          if next.isBroken { return again(left) }
          next.arrived += 1
          let meeting = next.meeting
          guard next.arrived == parties else {
            return [(.asleep(meeting: meeting, left: left), next)]
          }
          if fault == .keepsTheMeeting { next.arrived = 0 } else { next.nextMeeting() }
          if fault == .endsBeforeTheAction {
            next.told[meeting] = true
          }
          return [(.act(meeting: meeting, left: left), next)]
        case .act(let meeting, let left):
          next.acted.insert(meeting)
          return [(.end(meeting: meeting, passed: true, left: left), next)]
        case .end(let meeting, let passed, let left):
          next.told[meeting] = passed
          // A reset is no arrival.
          guard left > 0 else { return [(.done, next)] }
          return answer(passed ? .passedLast : .timedOut, meeting, left)
        case .asleep(let meeting, let left):
          if let passed = next.told[meeting] {
            return answer(passed ? .passed : .broken, meeting, left)
          }
          return timed.contains(thread) ? [(.giveUp(meeting: meeting, left: left), next)] : []
        case .giveUp(let meeting, let left):
          guard next.meeting == meeting || fault == .breaksBlindly else {
            return [(.decided(meeting: meeting, left: left), next)]
          }
          next.isBroken = true
          if fault == .breaksBlindly && next.meeting != meeting {
            return answer(.timedOut, meeting, left)
          }
          next.nextMeeting()
          if fault == .breaksSilently { return answer(.timedOut, meeting, left) }
          return [(.end(meeting: meeting, passed: false, left: left), next)]
        case .decided(let meeting, let left):
          guard let passed = next.told[meeting] else { return [] }
          return answer(passed ? .passed : .broken, meeting, left)
        case .reset:
          let ended = next.meeting
          next.isBroken = false
          next.nextMeeting()
          return [(.end(meeting: ended, passed: false, left: 0), next)]
        case .done:
          return []
        }
      } rule: { barrier, _ in
        for (meeting, answers) in barrier.answers {
          let passed = answers.filter { $0 == .passed || $0 == .passedLast }.count
          if passed > 0 && passed < answers.count { return "one meeting ended in two ways" }
          if passed > parties { return "more passed than meet" }
          if answers.filter({ $0 == .passedLast }).count > 1 { return "two came last" }
          if passed > 0 && !barrier.acted.contains(meeting) { return "passed before the action" }
        }
        return nil
      })
  }

  @Test("all of a meeting are told the same, after the action", .endsInTime)
  func barrierIsSound() {
    for (parties, threads, rounds, timed, resets) in [
      (2, 2, 3, [], 0), (3, 3, 2, [], 0), (2, 4, 1, [], 0), (2, 2, 2, [0, 1], 0),
      (3, 3, 1, [0, 1], 0), (2, 2, 2, [0, 1], 2), (1, 2, 2, [0], 1),
    ] as [(Int, Int, Int, Set<Int>, Int)] {
      let verdict = barrier(
        parties: parties, threads: threads, rounds: rounds, timed: timed, resets: resets)
      #expect(verdict.isSound, "\(parties) \(threads) \(rounds) \(timed) \(resets): \(verdict)")
    }
  }

  @Test("a barrier with a fault is found out")
  func barrierFaults() {
    #expect(barrier(parties: 2, threads: 2, rounds: 1, timed: [0], .breaksBlindly).isViolated)
    #expect(barrier(parties: 2, threads: 2, rounds: 1, .endsBeforeTheAction).isViolated)
    #expect(barrier(parties: 2, threads: 2, rounds: 2, .keepsTheMeeting).isViolated)
    #expect(barrier(parties: 3, threads: 3, rounds: 1, timed: [0], .breaksSilently).isStuck)
  }

  // MARK: Phaser

  private enum PhaserFault: Hashable, Sendable {
    case none
    /// One that registers is not waited for in the present phase.
    case registersLate
    /// One that leaves is still waited for in the next phase.
    case staysRegistered
    /// The number of the phase moves on before all have arrived.
    case endsOneTooEarly
  }

  private enum PhaserStep: Hashable, Sendable {
    case register, arrive(left: Int), leave, end(phase: Int, left: Int, waits: Bool)
    case asleep(phase: Int, left: Int), look(phase: Int), onlooking(phase: Int), done
  }

  private struct PhaserState: Hashable {
    var parties: Int
    var missing: Int
    var phase = 0
    var told: Set<Int> = []
    /// Who is registered in truth, and who of them has arrived in each phase.
    var registered: Set<Int>
    var arrivals: [Int: Set<Int>] = [:]
    /// Who was registered in truth when each phase ended.
    var members: [Int: Set<Int>] = [:]
  }

  /// Parties that arrive a number of times each and then leave, parties that register first and do
  /// the same, and threads that only look on.
  private func phaser(
    parties: [Int], late: [Int] = [], onlookers: Int = 0, _ fault: PhaserFault = .none
  ) -> Verdict {
    let steps =
      parties.map { PhaserStep.arrive(left: $0) } + late.map { _ in .register }
      + [PhaserStep](repeating: .look(phase: 0), count: onlookers)
    let first = PhaserState(
      parties: parties.count, missing: parties.count, registered: Set(parties.indices))
    return explore(
      Program(first, steps, end: .done) { thread, step, shared in
        var next = shared
        func arrive(leaving: Bool, left: Int) -> [(PhaserStep, PhaserState)] {
          let phase = next.phase
          next.arrivals[phase, default: []].insert(thread)
          next.missing -= 1
          if leaving {
            if fault != .staysRegistered { next.parties -= 1 }
          }
          let last = fault == .endsOneTooEarly ? 1 : 0
          guard next.missing <= last else {
            if leaving { next.registered.remove(thread) }
            return [(leaving ? .done : .asleep(phase: phase, left: left), next)]
          }
          next.members[phase] = next.registered
          if leaving { next.registered.remove(thread) }
          next.missing = next.parties
          next.phase += 1
          return [(.end(phase: phase, left: left, waits: !leaving), next)]
        }
        func again(_ left: Int) -> [(PhaserStep, PhaserState)] {
          [(left > 1 ? .arrive(left: left - 1) : .leave, next)]
        }
        switch step {
        case .register:
          next.parties += 1
          if fault != .registersLate { next.missing += 1 }
          next.registered.insert(thread)
          return [(.arrive(left: late[thread - parties.count]), next)]
        case .arrive(let left):
          return arrive(leaving: false, left: left)
        case .leave:
          return arrive(leaving: true, left: 0)
        case .end(let phase, let left, let waits):
          next.told.insert(phase)
          return waits ? again(left) : [(.done, next)]
        case .asleep(let phase, let left):
          return next.told.contains(phase) ? again(left) : []
        case .look(let phase):
          return [(phase < next.phase ? .done : .onlooking(phase: phase), next)]
        case .onlooking(let phase):
          return next.told.contains(phase) ? [(.done, next)] : []
        case .done:
          return []
        }
      } rule: { state, steps in
        if state.missing < 0 { return "more arrived than are registered" }
        for phase in 0..<state.phase {
          let members = state.members[phase, default: []]
          if !members.isSubset(of: state.arrivals[phase, default: []]) {
            return "phase \(phase) ended before all had arrived"
          }
        }
        return nil
      })
  }

  @Test("a phase waits for all that are registered, while parties come and go")
  func phaserIsSound() {
    for (parties, late, onlookers) in [
      ([1, 2], [], 0), ([2, 1, 1], [], 1), ([1, 1], [1], 0), ([1], [1, 1], 1),
    ] as [([Int], [Int], Int)] {
      let verdict = phaser(parties: parties, late: late, onlookers: onlookers)
      #expect(verdict.isSound, "\(parties) \(late) \(onlookers): \(verdict)")
    }
  }

  @Test("a phaser with a fault is found out")
  func phaserFaults() {
    #expect(!phaser(parties: [1, 1], late: [1], .registersLate).isSound)
    #expect(phaser(parties: [1, 3], .staysRegistered).isStuck)
    #expect(phaser(parties: [1, 1], .endsOneTooEarly).isViolated)
  }
}
