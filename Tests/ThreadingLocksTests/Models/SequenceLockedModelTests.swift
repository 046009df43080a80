import TestSupport
import Testing

@Suite("Every interleaving of the sequence lock", .endsInTime)
struct SequenceLockedModelTests {
  private enum Fault: Hashable, Sendable {
    case none
    /// The writer changes the words with the version even.
    case staysEven
    /// The writer makes the version even before the last word is changed.
    case endsEarly
    /// The reader does not look at the version again.
    case looksOnce
    /// The reader does not mind an odd version.
    case readsWhileOdd
    /// The reader that has waited for the writers does not keep them out.
    case readsBesideWriters
    /// Writers do not exclude each other.
    case writesBesideWriters
  }

  private enum Step: Hashable, Sendable {
    case lock, odd, first, second, even, unlock
    case look(tries: Int), readFirst(version: Int, tries: Int)
    case readSecond(version: Int, first: Int, tries: Int)
    case lookAgain(version: Int, first: Int, second: Int, tries: Int)
    case lockToRead, readFirstAlone, readSecondAlone(first: Int)
    case readBoth(first: Int, second: Int), done
  }

  private struct Shared: Hashable {
    var version = 0
    var first = 0
    var second = 0
    var isLocked = false
    /// What the last write that is complete wrote, and each reader's least value so far.
    var written = 0
  }

  /// Writers that each count both words up by one, and readers that try twice before they wait for
  /// the writers.
  private func verdict(writers: Int, readers: Int, _ fault: Fault = .none) -> Verdict {
    explore(
      Program(
        Shared(),
        [Step](repeating: .lock, count: writers)
          + [Step](repeating: .look(tries: 2), count: readers),
        end: .done
      ) { _, step, shared in
        var next = shared
        switch step {
        case .lock:
          if fault != .writesBesideWriters {
            guard !next.isLocked else { return [] }
            next.isLocked = true
          }
          return [(.odd, next)]
        case .odd:
          if fault != .staysEven { next.version += 1 }
          return [(.first, next)]
        case .first:
          next.first += 1
          return [(fault == .endsEarly ? .even : .second, next)]
        case .second:
          next.second += 1
          return [(fault == .endsEarly ? .unlock : .even, next)]
        case .even:
          next.version += fault == .staysEven ? 2 : 1
          next.written = next.first
          return [(fault == .endsEarly ? .second : .unlock, next)]
        case .unlock:
          next.isLocked = false
          return [(.done, next)]
        case .look(let tries):
          if !next.version.isMultiple(of: 2) && fault != .readsWhileOdd {
            return [(tries > 1 ? .look(tries: tries - 1) : .lockToRead, next)]
          }
          return [(.readFirst(version: next.version, tries: tries), next)]
        case .readFirst(let version, let tries):
          return [(.readSecond(version: version, first: next.first, tries: tries), next)]
        case .readSecond(let version, let first, let tries):
          return [
            (.lookAgain(version: version, first: first, second: next.second, tries: tries), next)
          ]
        case .lookAgain(let version, let first, let second, let tries):
          if version == next.version || fault == .looksOnce {
            return [(.readBoth(first: first, second: second), next)]
          }
          return [(tries > 1 ? .look(tries: tries - 1) : .lockToRead, next)]
        case .lockToRead:
          if fault != .readsBesideWriters {
            guard !next.isLocked else { return [] }
            next.isLocked = true
          }
          return [(.readFirstAlone, next)]
        case .readFirstAlone:
          return [(.readSecondAlone(first: next.first), next)]
        case .readSecondAlone(let first):
          if fault != .readsBesideWriters { next.isLocked = false }
          return [(.readBoth(first: first, second: next.second), next)]
        case .readBoth:
          return [(.done, next)]
        case .done:
          return []
        }
      } rule: { shared, steps in
        for case .readBoth(let first, let second) in steps {
          if first != second { return "read half of a write" }
        }
        if steps.allSatisfy({ $0 == .done }) && shared.first != writers { return "a write is lost" }
        return nil
      })
  }

  @Test("a reader sees a write whole or not at all, and comes to an end")
  func sound() {
    for (writers, readers) in [(1, 2), (2, 1), (2, 2), (3, 1)] {
      let verdict = verdict(writers: writers, readers: readers)
      #expect(verdict.isSound, "\(writers) \(readers): \(verdict)")
    }
  }

  @Test("a sequence lock with a fault is found out")
  func faults() {
    for fault in [
      Fault.staysEven, .endsEarly, .looksOnce, .readsWhileOdd, .readsBesideWriters,
      .writesBesideWriters,
    ] {
      #expect(verdict(writers: 2, readers: 1, fault).isViolated, "\(fault)")
    }
  }
}
