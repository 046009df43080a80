import TestSupport
import Testing

@Suite("Every interleaving of the state machines", .endsInTime)
struct ModelTests {
  @Test("the mutex excludes, and no thread is left asleep", .endsInTime)
  func mutex() {
    let verdict = explore(FastMutexModel(rounds: [2, 2, 1], interruptions: 1))
    #expect(verdict.isSound, "\(verdict)")
  }

  @Test("threads that give up waiting for the mutex lose no wake", .endsInTime)
  func mutexTimed() {
    let verdict = explore(FastMutexModel(rounds: [1, 2, 1], timed: [0, 2], interruptions: 1))
    #expect(verdict.isSound, "\(verdict)")
  }

  @Test(
    "a mutex that is kept for those that have slept is not lost when they are gone",
    .endsInTime)
  func mutexKept() {
    let verdicts = [
      explore(FastMutexModel(rounds: [1, 1, 1], delays: 1)),
      explore(FastMutexModel(rounds: [1, 1, 1], timed: [0, 2], delays: 1)),
      explore(FastMutexModel(rounds: [1, 1, 1], timed: [1], trying: [2], delays: 1)),
      explore(FastMutexModel(rounds: [2, 1], timed: [1], interruptions: 1, delays: 1)),
    ]
    for verdict in verdicts { #expect(verdict.isSound, "\(verdict)") }
  }

  @Test("a mutex that is kept for threads that are gone is found out")
  func mutexKeptFaults() {
    let verdict = explore(
      FastMutexModel(rounds: [2, 2], timed: [1], delays: 1, fault: .waitsForTheKept))
    #expect(verdict.isStuck)
    let late = explore(
      FastMutexModel(rounds: [1, 1, 1], timed: [0], delays: 1, fault: .wakesOnlyTheOverdue))
    #expect(late.isStuck)
  }

  @Test("a mutex with a fault is found out")
  func mutexFaults() {
    #expect(explore(FastMutexModel(rounds: [2, 1, 1], fault: .forgetsTheMark)).isStuck)
    #expect(explore(FastMutexModel(rounds: [2, 1], fault: .wakesFirst)).isStuck)
    #expect(!explore(FastMutexModel(rounds: [2, 1], fault: .marksBlindly)).isSound)
  }

  @Test(
    "the condition loses no signal", .endsInTime, arguments: [false, true],
    [false, true])
  func condition(signalsInside: Bool, broadcasts: Bool) {
    let verdict = explore(
      ConditionModel(
        consumers: [1, 1], producers: [1, 1], signalsInside: signalsInside, broadcasts: broadcasts,
        interruptions: 1))
    #expect(verdict.isSound, "\(verdict)")
  }

  @Test("a waiter that gives up takes no signal from the others", .endsInTime)
  func conditionTimed() {
    let verdict = explore(ConditionModel(consumers: [1, 1], producers: [2], timed: [0]))
    #expect(verdict.isSound, "\(verdict)")
  }

  @Test("a condition with a fault is found out")
  func conditionFaults() {
    func verdict(_ fault: ConditionModel.Fault) -> Verdict {
      explore(ConditionModel(consumers: [1], producers: [1], fault: fault))
    }
    #expect(verdict(.countsLate).isStuck)
    #expect(verdict(.readsLate).isStuck)
    #expect(verdict(.keepsTheSequence).isStuck)
    #expect(verdict(.looksForSleepersFirst).isStuck)
    #expect(verdict(.sleepsUncounted).isStuck)
  }

  @Test("the semaphore keeps its permits and serves everybody", .endsInTime)
  func semaphore() {
    for wants in [[1, 1, 1], [2, 1, 1], [1, 2, 2]] {
      let verdict = explore(SemaphoreModel(permits: 2, wants: wants))
      #expect(verdict.isSound, "\(wants): \(verdict)")
    }
  }

  @Test("a batch that gives up lets those behind it pass", .endsInTime)
  func semaphoreTimed() {
    for wants in [[3, 1, 1], [1, 2, 3]] {
      let verdict = explore(SemaphoreModel(permits: 3, wants: wants, timed: [0, 2]))
      #expect(verdict.isSound, "\(wants): \(verdict)")
    }
    let kept = explore(SemaphoreModel(permits: 2, wants: [3, 1, 1], timed: [0], keeping: [1, 2]))
    #expect(kept.isSound, "\(kept)")
  }

  @Test("a semaphore with a fault is found out")
  func semaphoreFaults() {
    #expect(
      explore(
        SemaphoreModel(
          permits: 2, wants: [3, 1], timed: [0], keeping: [1], fault: .leavesWithoutSettling)
      ).isStuck)
    #expect(
      explore(SemaphoreModel(permits: 1, wants: [1, 1], timed: [1], fault: .givesUpBlindly))
        .isViolated)
    #expect(!explore(SemaphoreModel(permits: 1, wants: [1, 1], fault: .marksBlindly)).isSound)
    #expect(explore(SemaphoreModel(permits: 1, wants: [1, 1], fault: .forgetsTheWake)).isStuck)
  }
}
