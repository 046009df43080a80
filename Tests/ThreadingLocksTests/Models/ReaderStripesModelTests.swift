import TestSupport
import Testing

@Suite("Every interleaving of a read-write lock's stripes", .endsInTime)
struct ReaderStripesModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// The reader looks whether the stripes are on, then takes its stripe.
    case looksFirst
    /// The writer looks at the stripes, then turns them off.
    case drainsFirst
    /// The reader gives its stripe back without a wake.
    case leavesSilently
    /// The writer sets its bit without looking whether the reader is still there.
    case marksBlindly
    /// Stripes are turned on by a reader that has given the word back.
    case turnsOnLate
  }

  private enum Step: Hashable, Sendable {
    // Readers.
    case look, take, check, giveBack, wakeUnread, reading, leave, wake, takeWord, turnOn,
      readingByWord, leaveWord
    case lateTurnOn
    // Writers.
    case takeToWrite, turnOff, drain(stripe: Int), mark(stripe: Int, seen: Int)
    case sleep(stripe: Int, seen: Int), asleep(stripe: Int), writing, writeLeave
    case done
  }

  /// The word is simple here: it is taken in one step, or waited for. Its own model shows that it can.
  private struct Shared: Hashable {
    var areOn = true
    var readers = 0
    var hasWriter = false
    var stripes: [ModelWord]
  }

  private static let bit = 100

  private func verdict(readers: Int, writers: Int, stripes: Int, _ fault: Fault = .none) -> Verdict
  {
    let first: Step = fault == .drainsFirst ? .drain(stripe: 0) : .turnOff
    let last: Step = fault == .drainsFirst ? .turnOff : .writing
    let steps =
      [Step](repeating: .look, count: readers) + [Step](repeating: .takeToWrite, count: writers)
    return explore(
      Program(
        Shared(stripes: [ModelWord](repeating: ModelWord(0), count: stripes)), steps, end: .done
      ) { thread, step, shared in
        var next = shared
        let own = thread % stripes
        let me = thread + 1
        switch step {
        case .look:
          return [(next.areOn ? .take : .takeWord, next)]
        case .take:
          if next.stripes[own].compareExchange(0, me) != 0 { return [(.takeWord, next)] }
          return [(fault == .looksFirst ? .reading : .check, next)]
        case .check:
          return [(next.areOn ? .reading : .giveBack, next)]
        case .giveBack:
          let before = next.stripes[own].value
          next.stripes[own].value = 0
          return [(before > Self.bit ? .wakeUnread : .takeWord, next)]
        case .wakeUnread:
          next.stripes[own].wake(1)
          return [(.takeWord, next)]
        case .reading:
          return [(.leave, next)]
        case .leave:
          let before = next.stripes[own].value
          next.stripes[own].value = 0
          let isWaitedFor = before > Self.bit && fault != .leavesSilently
          return [(isWaitedFor ? .wake : .done, next)]
        case .wake:
          next.stripes[own].wake(1)
          return [(.done, next)]
        case .takeWord:
          if next.hasWriter { return [] }
          next.readers += 1
          return [(.turnOn, next), (.readingByWord, next)]
        case .turnOn:
          if fault == .turnsOnLate { return [(.readingByWord, next)] }
          next.areOn = true
          return [(.readingByWord, next)]
        case .readingByWord:
          return [(.leaveWord, next)]
        case .leaveWord:
          next.readers -= 1
          return [(fault == .turnsOnLate ? .lateTurnOn : .done, next)]
        case .lateTurnOn:
          next.areOn = true
          return [(.done, next)]
        case .takeToWrite:
          if next.hasWriter || next.readers > 0 { return [] }
          next.hasWriter = true
          return [(first, next)]
        case .turnOff:
          next.areOn = false
          return [(fault == .drainsFirst ? .writing : .drain(stripe: 0), next)]
        case .drain(let stripe):
          let seen = next.stripes[stripe].value
          if seen == 0 {
            return [(stripe + 1 == stripes ? last : .drain(stripe: stripe + 1), next)]
          }
          if seen > Self.bit { return [(.sleep(stripe: stripe, seen: seen), next)] }
          return [(.mark(stripe: stripe, seen: seen), next)]
        case .mark(let stripe, let seen):
          if fault == .marksBlindly {
            next.stripes[stripe].value = seen + Self.bit
          } else if next.stripes[stripe].compareExchange(seen, seen + Self.bit) != seen {
            return [(.drain(stripe: stripe), next)]
          }
          return [(.sleep(stripe: stripe, seen: seen + Self.bit), next)]
        case .sleep(let stripe, let seen):
          next.stripes[stripe].wait(thread, while: seen)
          return [(.asleep(stripe: stripe), next)]
        case .asleep(let stripe):
          return next.stripes[stripe].isAsleep(thread) ? [] : [(.drain(stripe: stripe), next)]
        case .writing:
          return [(.writeLeave, next)]
        case .writeLeave:
          next.hasWriter = false
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { shared, steps in
        let writers = steps.count { $0 == .writing }
        let readers = steps.count { $0 == .reading || $0 == .readingByWord }
        if writers > 1 || (writers == 1 && readers > 0) { return "a writer is not alone" }
        if steps.allSatisfy({ $0 == .done }) && shared.stripes.contains(where: { $0.value != 0 }) {
          return "a stripe is left taken"
        }
        return nil
      })
  }

  @Test("a writer is alone and waits for no reader that has left", .endsInTime)
  func sound() {
    for (readers, writers, stripes) in [(2, 1, 2), (2, 1, 1), (1, 2, 1), (2, 2, 2)] {
      let verdict = verdict(readers: readers, writers: writers, stripes: stripes)
      #expect(verdict.isSound, "\(readers), \(writers), \(stripes): \(verdict)")
    }
  }

  @Test("stripes with a fault are found out", .endsInTime)
  func faults() {
    #expect(verdict(readers: 1, writers: 1, stripes: 1, .looksFirst).isViolated)
    #expect(verdict(readers: 1, writers: 1, stripes: 1, .drainsFirst).isViolated)
    #expect(verdict(readers: 1, writers: 1, stripes: 1, .leavesSilently).isStuck)
    #expect(!verdict(readers: 1, writers: 1, stripes: 1, .marksBlindly).isSound)
    #expect(verdict(readers: 2, writers: 2, stripes: 2, .turnsOnLate).isViolated)
  }
}
