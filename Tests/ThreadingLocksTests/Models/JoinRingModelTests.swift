import TestSupport
import Testing

// Threads that join each other in a ring: the steps by which exactly one of them is refused.

@Suite("Every interleaving of a ring of joins", .endsInTime)
struct JoinRingModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// A thread looks for others that wait for it before it counts itself.
    case looksFirst
    /// A thread that has seen the ring does not look again under the lock.
    case looksOnce
    /// A refused thread takes its note back only after it has given the lock back.
    case withdrawsLate
  }

  private enum Step: Hashable, Sendable {
    case note, count, look, walk, lock, lookAgain, withdraw, unlock(isRefused: Bool)
    case lateWithdraw, join, done
  }

  private struct Shared: Hashable {
    var notes: [Bool]
    var counts: [Int]
    var ended: [Bool]
    var isLocked = false
    var refused = 0
  }

  /// Each of `count` threads joins the next one.
  private func verdict(_ count: Int, _ fault: Fault = .none) -> Verdict {
    let shared = Shared(
      notes: [Bool](repeating: false, count: count), counts: [Int](repeating: 0, count: count),
      ended: [Bool](repeating: false, count: count))
    return explore(
      Program(shared, [Step](repeating: .note, count: count), end: .done) { thread, step, shared in
        var next = shared
        let other = (thread + 1) % count
        let isRing = next.notes.allSatisfy { $0 }
        switch step {
        case .note:
          next.notes[thread] = true
          return [(fault == .looksFirst ? .look : .count, next)]
        case .count:
          next.counts[other] += 1
          return [(fault == .looksFirst ? .join : .look, next)]
        case .look:
          let goesOn: Step = fault == .looksFirst ? .count : .join
          return [(next.counts[thread] == 0 ? goesOn : .walk, next)]
        case .walk:
          guard isRing else { return [(.join, next)] }
          if fault == .looksOnce { return [(.withdraw, next)] }
          return [(.lock, next)]
        case .lock:
          if next.isLocked { return [] }
          next.isLocked = true
          return [(.lookAgain, next)]
        case .lookAgain:
          return [(isRing ? .withdraw : .unlock(isRefused: false), next)]
        case .withdraw:
          next.refused += 1
          if fault != .withdrawsLate { next.notes[thread] = false }
          return [(.unlock(isRefused: true), next)]
        case .unlock(let isRefused):
          next.isLocked = false
          if fault == .withdrawsLate && isRefused { return [(.lateWithdraw, next)] }
          if isRefused { next.ended[thread] = true }
          return [(isRefused ? .done : .join, next)]
        case .lateWithdraw:
          next.notes[thread] = false
          next.ended[thread] = true
          return [(.done, next)]
        case .join:
          guard next.ended[other] else { return [] }
          next.notes[thread] = false
          next.ended[thread] = true
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { shared, _ in
        shared.refused > 1 ? "two threads were refused" : nil
      })
  }

  @Test("one thread is refused and all end", arguments: 2...3)
  func sound(count: Int) {
    let verdict = verdict(count)
    #expect(verdict.isSound, "\(verdict)")
  }

  @Test("steps in another order or left out are found")
  func faults() {
    #expect(verdict(2, .looksFirst).isStuck)
    #expect(verdict(2, .looksOnce).isViolated)
    #expect(verdict(2, .withdrawsLate).isViolated)
  }
}
