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
    /// A writer that tries takes the word first, and gives it back if a stripe is taken.
    case triesByTaking
    /// A writer that tries takes the word without looking whether the stripes were turned on again.
    case forgetsTurns
    /// A writer that tries looks at the stripes, then at the word's turns.
    case drainsBeforeTurns
    /// The turn is counted by a reader that has given the word back.
    case countsTurnLate
  }

  private enum Step: Hashable, Sendable {
    // Readers.
    case look, take, check, giveBack, wakeUnread, reading, leave, wake, takeWord, turnOn, countTurn,
      readingByWord, leaveWord
    case lateTurnOn, lateCountTurn
    // Writers.
    case takeToWrite, turnOff, drain(stripe: Int), mark(stripe: Int, seen: Int)
    case sleep(stripe: Int, seen: Int), asleep(stripe: Int), writing, writeLeave
    // Writers that try.
    case tryLook, tryTurnOff(turns: Int), tryDrain(stripe: Int, turns: Int), tryTake(turns: Int)
    case tryTakeFirst, tryTurnOffAfter, tryDrainAfter(stripe: Int), tryLeave
    case done
  }

  /// What a thread does once.
  private enum Role: Hashable, Sendable {
    case reader, writer
    /// The same, but they do not wait for the word.
    case readerThatTries, writerThatTries
  }

  /// The word is simple here: it is taken in one step, or waited for. Its own model shows that it can.
  private struct Shared: Hashable {
    var areOn = true
    var readers = 0
    var writer: Int?
    /// How often they were turned on.
    var turns = 0
    var stripes: [ModelWord]
    /// Writers that readers were refused because of, and that may yet fail.
    var refusers: Set<Int> = []
    /// Whether somebody was refused for one that never held the lock.
    var isUnjust = false

    var hasWriter: Bool { writer != nil }
  }

  private static let bit = 100

  private func verdict(readers: Int, writers: Int, stripes: Int, _ fault: Fault = .none) -> Verdict
  {
    verdict(
      [Role](repeating: .reader, count: readers) + [Role](repeating: .writer, count: writers),
      stripes: stripes, fault)
  }

  private func verdict(_ roles: [Role], stripes: Int, _ fault: Fault = .none) -> Verdict {
    let first: Step = fault == .drainsFirst ? .drain(stripe: 0) : .turnOff
    let last: Step = fault == .drainsFirst ? .turnOff : .writing
    let steps: [Step] = roles.map { role in
      switch role {
      case .reader, .readerThatTries: .look
      case .writer: .takeToWrite
      case .writerThatTries:
        switch fault {
        case .triesByTaking: .tryTakeFirst
        case .drainsBeforeTurns: .tryTurnOff(turns: 0)
        default: .tryLook
        }
      }
    }
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
          if let writer = next.writer {
            guard roles[thread] == .readerThatTries else { return [] }
            next.refusers.insert(writer)
            return [(.done, next)]
          }
          next.readers += 1
          return [(.turnOn, next), (.readingByWord, next)]
        case .turnOn:
          if fault == .turnsOnLate || next.areOn { return [(.readingByWord, next)] }
          next.areOn = true
          return [(fault == .countsTurnLate ? .lateCountTurn : .countTurn, next)]
        case .countTurn:
          next.turns += 1
          return [(.readingByWord, next)]
        case .readingByWord:
          return [(.leaveWord, next)]
        case .leaveWord:
          next.readers -= 1
          return [(fault == .turnsOnLate ? .lateTurnOn : .done, next)]
        case .lateTurnOn:
          next.areOn = true
          return [(.done, next)]
        case .lateCountTurn:
          // It reads and leaves, and is stopped before it counts.
          next.readers -= 1
          return [(.done, next)]
        case .takeToWrite:
          if next.hasWriter || next.readers > 0 { return [] }
          next.writer = thread
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
          next.refusers.remove(thread)
          return [(.writeLeave, next)]
        case .writeLeave:
          // A reader that it refuses from here on, it refuses as one that held the lock.
          next.writer = nil
          next.refusers.remove(thread)
          return [(.done, next)]
        case .tryLook:
          if next.hasWriter || next.readers > 0 { return [(.done, next)] }
          return [(.tryTurnOff(turns: next.turns), next)]
        case .tryTurnOff(let turns):
          next.areOn = false
          return [(.tryDrain(stripe: 0, turns: turns), next)]
        case .tryDrain(let stripe, let turns):
          if next.stripes[stripe].value != 0 { return [(.done, next)] }
          if stripe + 1 < stripes { return [(.tryDrain(stripe: stripe + 1, turns: turns), next)] }
          return [(.tryTake(turns: fault == .drainsBeforeTurns ? next.turns : turns), next)]
        case .tryTake(let turns):
          // Begins anew, should the word have changed.
          let isSame = next.turns == turns || fault == .forgetsTurns
          if next.hasWriter || next.readers > 0 || !isSame { return [(.tryLook, next)] }
          next.writer = thread
          return [(.writing, next)]
        case .tryTakeFirst:
          if next.hasWriter || next.readers > 0 { return [(.done, next)] }
          next.writer = thread
          return [(.tryTurnOffAfter, next)]
        case .tryTurnOffAfter:
          next.areOn = false
          return [(.tryDrainAfter(stripe: 0), next)]
        case .tryDrainAfter(let stripe):
          if next.stripes[stripe].value != 0 { return [(.tryLeave, next)] }
          return [(stripe + 1 == stripes ? .writing : .tryDrainAfter(stripe: stripe + 1), next)]
        case .tryLeave:
          next.writer = nil
          if next.refusers.contains(thread) { next.isUnjust = true }
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { shared, steps in
        let writers = steps.count { $0 == .writing }
        let readers = steps.count { $0 == .reading || $0 == .readingByWord }
        if writers > 1 || (writers == 1 && readers > 0) { return "a writer is not alone" }
        if shared.isUnjust { return "a reader was refused for a writer that never held the lock" }
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

  @Test("a try fails only because of somebody who holds the lock", .endsInTime)
  func tries() {
    let mixes: [[Role]] = [
      [.readerThatTries, .reader, .writerThatTries], [.reader, .writerThatTries, .writerThatTries],
      [.readerThatTries, .writer, .writerThatTries],
      [.readerThatTries, .reader, .reader, .writerThatTries],
    ]
    for mix in mixes {
      for stripes in [1, 2] {
        let verdict = verdict(mix, stripes: stripes)
        #expect(verdict.isSound, "\(mix), \(stripes): \(verdict)")
      }
    }
  }

  @Test("tries with a fault are found out", .endsInTime)
  func faultsOfTries() {
    let refused: [Role] = [.readerThatTries, .reader, .writerThatTries]
    #expect(verdict(refused, stripes: 2, .triesByTaking).isViolated)
    let crowd: [Role] = [.reader, .reader, .writerThatTries]
    #expect(verdict(crowd, stripes: 1).isSound)
    #expect(verdict(crowd, stripes: 1, .forgetsTurns).isViolated)
    #expect(verdict(crowd, stripes: 1, .drainsBeforeTurns).isViolated)
    #expect(verdict(crowd, stripes: 1, .countsTurnLate).isViolated)
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
