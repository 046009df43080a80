import TestSupport
import Testing

// The types whose whole state is one word. Each test gives the steps of the real methods, explores
// them, and then sees that leaving one of them out is found.

@Suite("Every interleaving of latch, parker and once flag", .endsInTime)
struct WordModelTests {
  // MARK: CountdownLatch

  private enum LatchStep: Hashable, Sendable {
    case countDown, change(seen: Int), wake
    case look, mark(seen: Int), sleep(seen: Int), asleep, done
  }

  private func latch(wakes: Bool = true, comparesWhenMarking: Bool = true) -> Verdict {
    explore(
      Program(ModelWord(2 << 1), [LatchStep.countDown, .countDown, .look, .look], end: .done) {
        thread, step, shared in
        var word = shared
        switch step {
        case .countDown:
          return [(.change(seen: word.value), word)]
        case .change(let seen):
          let next = seen >> 1 == 1 ? 0 : seen - 2
          guard word.compareExchange(seen, next) == seen else { return [(.countDown, word)] }
          return [(next == 0 && seen & 1 != 0 && wakes ? .wake : .done, word)]
        case .wake:
          word.wake()
          return [(.done, word)]
        case .look:
          if word.value >> 1 == 0 { return [(.done, word)] }
          return [(word.value & 1 != 0 ? .sleep(seen: word.value) : .mark(seen: word.value), word)]
        case .mark(let seen):
          if comparesWhenMarking {
            guard word.compareExchange(seen, seen | 1) == seen else { return [(.look, word)] }
          } else {
            word.value = seen | 1
          }
          return [(.sleep(seen: seen | 1), word)]
        case .sleep(let seen):
          word.wait(thread, while: seen)
          return [(.asleep, word)]
        case .asleep:
          return word.isAsleep(thread) ? [] : [(.look, word)]
        case .done:
          return []
        }
      } rule: { word, steps in
        let hasPassed = steps[2...].contains(.done)
        return hasPassed && word.value >> 1 != 0 ? "passed before zero" : nil
      })
  }

  @Test("nobody passes the latch before zero, and all do after")
  func latch() {
    let verdict = latch(wakes: true)
    #expect(verdict.isSound, "\(verdict)")
    #expect(latch(wakes: false).isStuck)
    #expect(!latch(comparesWhenMarking: false).isSound)
  }

  // MARK: Parker

  private enum ParkStep: Hashable, Sendable {
    case take, mark, sleep, asleep, retake, leave
    case unpark, wake, done
  }

  private struct Parking: Hashable {
    var word = ModelWord(0)
    var taken = 0
    var given = 0
    /// Waits that may still time out.
    var timeouts = 0
  }

  private func parker(
    timeouts: Int = 0, unparks: Int = 1, wakes: Bool = true, keepsLatePermit: Bool = true
  ) -> Verdict {
    var parking = Parking()
    parking.timeouts = timeouts
    let unparkers = [ParkStep](repeating: .unpark, count: unparks)
    return explore(
      Program(parking, [.take] + unparkers, end: .done) { thread, step, shared in
        var next = shared
        switch step {
        case .take, .retake:
          if next.word.compareExchange(2, 0) == 2 {
            next.taken += 1
            return [(.done, next)]
          }
          return [(step == .take ? .mark : .sleep, next)]
        case .mark:
          return [(next.word.compareExchange(0, 1) == 0 ? .sleep : .take, next)]
        case .sleep:
          next.word.wait(thread, while: 1)
          return [(.asleep, next)]
        case .asleep:
          guard next.word.isAsleep(thread) else { return [(.retake, next)] }
          guard next.timeouts > 0 else { return [] }
          next.timeouts -= 1
          next.word.timeOut(thread)
          return [(.leave, next)]
        case .leave:
          // The moment came: it parks again, without a limit, unless the permit was there.
          let before = next.word.value
          next.word.value = 0
          let isPermit = before == 2 && keepsLatePermit
          if isPermit { next.taken += 1 }
          return [(isPermit ? .done : .take, next)]
        case .unpark:
          let before = next.word.value
          next.word.value = 2
          next.given += 1
          return [(before == 1 && wakes ? .wake : .done, next)]
        case .wake:
          next.word.wake(1)
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { parking, _ in
        parking.taken > parking.given ? "went on without a permit" : nil
      })
  }

  @Test("a permit is never lost, whether it comes before, during or at the end of a wait")
  func parker() {
    for timeouts in 0...2 {
      let verdict = parker(timeouts: timeouts)
      #expect(verdict.isSound, "\(verdict)")
    }
    let several = parker(timeouts: 1, unparks: 3)
    #expect(several.isSound, "\(several)")
    #expect(parker(wakes: false).isStuck)
    #expect(parker(timeouts: 1, keepsLatePermit: false).isStuck)
  }

  // MARK: OnceFlag

  private enum OnceStep: Hashable, Sendable {
    case look, begin, mark(seen: Int), sleep(seen: Int), asleep, body, end, wake, done
  }

  private struct OnceState: Hashable {
    var word = ModelWord(0)
    var failuresLeft: Int
    var successes = 0
    /// Whether the thread in the body is going to fail.
    var isFailing = false
  }

  private func once(failures: Int, wakesAll: Bool = true, comparesToBegin: Bool = true) -> Verdict {
    let waiters = 8
    let isDone = 16
    return explore(
      Program(
        OnceState(failuresLeft: failures), [OnceStep](repeating: .look, count: 3), end: .done
      ) { thread, step, shared in
        var next = shared
        let me = thread + 1
        switch step {
        case .look:
          if next.word.value == isDone { return [(.done, next)] }
          if next.word.value == 0 { return [(.begin, next)] }
          if next.word.value & waiters != 0 { return [(.sleep(seen: next.word.value), next)] }
          return [(.mark(seen: next.word.value), next)]
        case .begin:
          if comparesToBegin {
            guard next.word.compareExchange(0, me) == 0 else { return [(.look, next)] }
          } else {
            next.word.value = me
          }
          return [(.body, next)]
        case .mark(let seen):
          guard next.word.compareExchange(seen, seen | waiters) == seen else {
            return [(.look, next)]
          }
          return [(.sleep(seen: seen | waiters), next)]
        case .sleep(let seen):
          next.word.wait(thread, while: seen)
          return [(.asleep, next)]
        case .asleep:
          return next.word.isAsleep(thread) ? [] : [(.look, next)]
        case .body:
          next.isFailing = next.failuresLeft > 0
          if next.isFailing { next.failuresLeft -= 1 } else { next.successes += 1 }
          return [(.end, next)]
        case .end:
          let before = next.word.value
          next.word.value = next.isFailing ? 0 : isDone
          return [(before & waiters != 0 ? .wake : .done, next)]
        case .wake:
          next.word.wake(wakesAll ? .max : 1)
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { state, steps in
        if state.successes > 1 { return "done twice" }
        let inside = steps.filter { $0 == .body || $0 == .end }.count
        return inside > 1 ? "two threads at it" : nil
      })
  }

  @Test("one thread at a time tries, until one succeeds, and nobody is left asleep")
  func once() {
    for failures in 0...3 {
      let verdict = once(failures: failures)
      #expect(verdict.isSound, "\(verdict)")
    }
    #expect(once(failures: 0, wakesAll: false).isStuck)
    #expect(once(failures: 0, comparesToBegin: false).isViolated)
  }
}
