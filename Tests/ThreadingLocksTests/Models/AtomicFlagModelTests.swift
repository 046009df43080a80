import TestSupport
import Testing

@Suite("Every interleaving of the flag that can be waited for", .endsInTime)
struct AtomicFlagModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// The mark of those that wait is stored without looking whether the flag has changed.
    case marksBlindly
    /// A change keeps the mark and wakes nobody.
    case wakesNobody
    /// A change wakes one.
    case wakesOne
  }

  private enum Step: Hashable, Sendable {
    case change(to: Int), wake
    case look(for: Int), mark(seen: Int, for: Int), sleep(marked: Int, for: Int), asleep(for: Int)
    case done
  }

  /// Threads that each change the flag once, and threads that each wait for one of its values.
  private func verdict(changes: [Int], waits: [Int], _ fault: Fault = .none) -> Verdict {
    let steps = changes.map { Step.change(to: $0) } + waits.map { Step.look(for: $0) }
    return explore(
      Program(ModelWord(1 - (waits.first ?? 0)), steps, end: .done) { thread, step, shared in
        var word = shared
        switch step {
        case .change(let state):
          let before = word.value
          word.value = fault == .wakesNobody ? state | before & 2 : state
          let isMarked = before & 2 != 0
          if fault == .wakesNobody {
            return [(.done, word)]
          }
          return [(isMarked ? .wake : .done, word)]
        case .wake:
          word.wake(fault == .wakesOne ? 1 : .max)
          return [(.done, word)]
        case .look(let state):
          if word.value & 1 == state { return [(.done, word)] }
          if word.value & 2 != 0 { return [(.sleep(marked: word.value, for: state), word)] }
          return [(.mark(seen: word.value, for: state), word)]
        case .mark(let seen, let state):
          if fault == .marksBlindly {
            word.value = seen | 2
          } else if word.compareExchange(seen, seen | 2) != seen {
            return [(.look(for: state), word)]
          }
          return [(.sleep(marked: seen | 2, for: state), word)]
        case .sleep(let marked, let state):
          word.wait(thread, while: marked)
          return [(.asleep(for: state), word)]
        case .asleep(let state):
          return word.isAsleep(thread) ? [] : [(.look(for: state), word)]
        case .done:
          return []
        }
      } rule: { _, _ in
        nil
      })
  }

  @Test("whoever waits for what the flag becomes for good is woken")
  func sound() {
    for (changes, waits) in [([1], [1, 1]), ([1, 1], [1, 1]), ([0, 0], [0])] {
      let verdict = verdict(changes: changes, waits: waits)
      #expect(verdict.isSound, "\(changes) \(waits): \(verdict)")
    }
  }

  @Test("a flag with a fault is found out")
  func faults() {
    #expect(verdict(changes: [1], waits: [1], .marksBlindly).isStuck)
    #expect(verdict(changes: [1], waits: [1], .wakesNobody).isStuck)
    #expect(verdict(changes: [1], waits: [1, 1], .wakesOne).isStuck)
  }
}
