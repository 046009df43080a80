import TestSupport
import Testing

@Suite("Every interleaving of the reader-writer lock", .endsInTime)
struct ReadWriteLockModelTests {
  @Test("writers are alone, and everybody gets in", .endsInTime)
  func sound() {
    let mixes: [[ReadWriteLockModel.Access]] = [
      [.reading, .reading, .writing], [.writing, .writing, .reading],
      [.upgradable, .writing, .reading], [.upgradable, .upgradable, .reading],
    ]
    for mix in mixes {
      let verdict = explore(ReadWriteLockModel(mix))
      #expect(verdict.isSound, "\(mix): \(verdict)")
    }
  }

  @Test("an upgrade waits for readers and comes before writers", .endsInTime)
  func upgrading() {
    for others in [[ReadWriteLockModel.Access.reading, .writing], [.reading, .reading]] {
      let verdict = explore(ReadWriteLockModel([.upgradable] + others, upgrading: [0]))
      #expect(verdict.isSound, "\(others): \(verdict)")
    }
    for timed in [[0], [0, 1], [0, 2], [1, 2], [0, 1, 2]] as [Set<Int>] {
      let verdict = explore(
        ReadWriteLockModel([.upgradable, .reading, .writing], upgrading: [0], timed: timed))
      #expect(verdict.isSound, "\(timed): \(verdict)")
    }
    let both = explore(
      ReadWriteLockModel(
        [.upgradable, .upgradable, .reading], upgrading: [0, 1], timed: [0, 1]))
    #expect(both.isSound, "\(both)")
  }

  @Test("those who give up leave nobody behind", .endsInTime)
  func timed() {
    for mix in [[ReadWriteLockModel.Access.reading, .writing, .reading], [.writing, .writing]] {
      let verdict = explore(ReadWriteLockModel(mix, timed: [0, 1]))
      #expect(verdict.isSound, "\(mix): \(verdict)")
    }
    // A writer gives up while the first reader stays: the second gets in.
    let kept = explore(
      ReadWriteLockModel([.reading, .writing, .reading], timed: [1], keeping: [0, 2]))
    #expect(kept.isSound, "\(kept)")
  }

  @Test("a lock with a fault is found out")
  func faults() {
    func verdict(
      _ mix: [ReadWriteLockModel.Access], timed: Set<Int> = [], keeping: Set<Int> = [],
      _ fault: ReadWriteLockModel.Fault
    ) -> Verdict {
      explore(ReadWriteLockModel(mix, timed: timed, keeping: keeping, fault: fault))
    }
    #expect(verdict([.reading, .writing], .readersLeaveSilently).isStuck)
    #expect(verdict([.reading, .writing], .waitsWithoutLooking).isStuck)
    #expect(
      verdict(
        [.reading, .writing, .reading], timed: [1], keeping: [0, 2], .leavesWithoutSettling
      ).isStuck)
    #expect(!verdict([.reading, .reading, .writing], .settlesBlindly).isSound)
  }
}
