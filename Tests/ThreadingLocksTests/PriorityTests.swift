import Glibc
import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

/// A thread of real-time priority that waits on one processor keeps all others from it if it spins. So
/// what it waits for must not depend on them for longer than a moment.
@Suite("A real-time thread that waits", .endsInTime)
struct PriorityTests {
  /// Something that a thread of usual priority holds while a real-time one comes for it.
  enum Kind: String, CaseIterable, Sendable {
    case fastMutex, locked, recursiveLock, readWriteLock, fairMutex, conditionLock, semaphore
    case latch, event, parker, once
  }

  private static let mayBeRealTime: Bool = {
    let allowed = Atomic(false)
    try? concurrently(1) { _ in
      allowed.store((try? becomeRealTime()) != nil, ordering: .relaxed)
    }
    return allowed.load(ordering: .relaxed)
  }()

  @Test(
    "sleeps after a bounded spin, so that a usual thread on its processor can end what it waits for",
    .enabled(if: mayBeRealTime), .endsInTime, arguments: Kind.allCases)
  func boundedSpin(kind: Kind) throws {
    let held = Held(kind)
    let id = Atomic<UInt32>(0)
    let used = Atomic(0)
    let mask = try firstProcessor()
    // One that is never let in would leave the test with nobody to end it, so the owner has a processor
    // of its own in time: the system gives real-time threads 95 percent of each second at most.
    try concurrently(1) { _ in
      do {
        try SystemScheduling.setAffinity(mask, of: 0)
        let letGo = try held.take()
        let join = try inBackground {
          do { try becomeRealTime() } catch { Issue.record(error) }
          let before = processorTime()
          id.store(SystemThread.currentID, ordering: .releasing)
          held.wait()
          used.store(processorTime() - before, ordering: .relaxed)
        }
        #expect(
          eventually {
            let waiter = id.load(ordering: .acquiring)
            return waiter != 0 && threadIsAsleep(waiter)
          })
        held.give()
        join()
        letGo()
      } catch {
        Issue.record(error)
      }
    }
    // Far more than any spin is meant to take, far less than what the system would let it burn.
    #expect(used.load(ordering: .relaxed) < 50_000_000)
  }
}

private func becomeRealTime() throws(ThreadingError) {
  var parameters = SystemScheduling.Parameters(policy: .fifo)
  parameters.priority = 1
  try SystemScheduling.set(parameters, of: 0)
}

/// The first processor that the calling thread may use.
private func firstProcessor() throws(ThreadingError) -> [UInt64] {
  var mask = try SystemScheduling.affinity(of: 0)
  var isFound = false
  for index in mask.indices {
    if !isFound && mask[index] != 0 {
      mask[index] &= ~(mask[index] - 1)
      isFound = true
    } else {
      mask[index] = 0
    }
  }
  return mask
}

/// Nanoseconds that the calling thread has run.
private func processorTime() -> Int {
  var time = timespec()
  _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// One object of each kind.
private final class Held: Sendable {
  private let kind: PriorityTests.Kind
  private let fastMutex = FastMutex()
  private let locked = Locked(false)
  private let recursiveLock = RecursiveLock()
  private let readWriteLock = ReadWriteLock()
  private let fairMutex = FairMutex()
  private let conditionLock = ConditionLock(0)
  private let semaphore = CountingSemaphore(0)
  private let latch = CountdownLatch(1)
  private let event = ResetEvent(.manual)
  private let parker = Parker()
  private let flag = OnceFlag()
  private let begun = ResetEvent(.manual)
  private let mayEnd = ResetEvent(.manual)

  init(_ kind: PriorityTests.Kind) {
    self.kind = kind
  }

  /// Makes others wait.
  ///
  /// - Returns: what waits for the end of whom that takes, after ``give()``.
  func take() throws -> () -> Void {
    switch kind {
    case .fastMutex: fastMutex.lock()
    case .recursiveLock: recursiveLock.lock()
    case .readWriteLock: readWriteLock.writeLock()
    case .fairMutex: fairMutex.lock()
    case .conditionLock: conditionLock.lock()
    case .locked, .semaphore, .latch, .event, .parker: break
    case .once:
      // By a thread of its own, since the body runs inside the call.
      let join = try inBackground {
        self.flag.runOnce {
          self.begun.set()
          self.mayEnd.wait()
        }
      }
      begun.wait()
      return join
    }
    return {}
  }

  func wait() {
    switch kind {
    case .fastMutex: fastMutex.withLock {}
    case .locked: locked.withLock(when: { $0 }) { _ in }
    case .recursiveLock: recursiveLock.withLock {}
    case .readWriteLock: readWriteLock.withReadLock {}
    case .fairMutex: fairMutex.withLock {}
    case .conditionLock: conditionLock.withLock {}
    case .semaphore: semaphore.acquire()
    case .latch: latch.wait()
    case .event: event.wait()
    case .parker: parker.park()
    case .once: flag.runOnce {}
    }
  }

  func give() {
    switch kind {
    case .fastMutex: fastMutex.unlock()
    case .locked: locked.withLock { $0 = true }
    case .recursiveLock: recursiveLock.unlock()
    case .readWriteLock: readWriteLock.writeUnlock()
    case .fairMutex: fairMutex.unlock()
    case .conditionLock: conditionLock.unlock()
    case .semaphore: semaphore.release()
    case .latch: latch.countDown()
    case .event: event.set()
    case .parker: parker.unpark()
    case .once: mayEnd.set()
    }
  }
}
