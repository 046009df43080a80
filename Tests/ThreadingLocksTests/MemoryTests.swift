import Glibc
import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

// The sanitizers map memory of their own.
@Suite("Memory", .endsInTime, .disabled(if: AllocatingSanitizer.isActive))
struct MemoryTests {
  @Test(
    "100,000 objects of each kind, used and let go, leave none behind; in the longer mode 1,000,000",
    .endsInTime)
  func flat() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try makeAndDropAll()
    }
    #expect(message(of: result).isEmpty)
  }
}

private final class Item: Sendable {}

/// A process of its own, so that what other tests allocate is not counted.
private func makeAndDropAll() throws {
  let count = LongTests.areOn ? 1_000_000 : 100_000
  // What waits does so one time in 32: that it leaves nothing behind shows as well, and takes less.
  func check(_ name: String, _ use: (_ waits: Bool) throws -> Void) rethrows {
    for round in 0..<1_000 { try use(round.isMultiple(of: 32)) }
    let before = ProcessFigures.now()
    for round in 0..<count { try use(round.isMultiple(of: 32)) }
    let after = ProcessFigures.now()
    // Sixteen bytes kept of each would be 1.6 MB; the allocator's own coming and going is less.
    if after.residentBytes > before.residentBytes + 1_500_000 {
      report("\(name): \(before.residentBytes) bytes before, \(after.residentBytes) after")
    }
    // So would one of each, of which there would be a hundred thousand; a thread of Dispatch that
    // begins meanwhile has a few.
    if after.descriptors > before.descriptors + 64 || after.maps > before.maps + 64 {
      report("\(name): \(before) before, \(after) after")
    }
  }
  check("FastMutex") { _ in FastMutex().withLock {} }
  check("RecursiveLock") { _ in
    let lock = RecursiveLock()
    lock.withLock { lock.withLock {} }
  }
  check("FairMutex") { _ in
    FairMutex(label: "label that is too long to be stored in place").withLock {}
  }
  check("ReadWriteLock") { waits in
    let lock = ReadWriteLock()
    if waits { lock.withReadLock { _ = lock.writeLock(until: passed) } }
    lock.withWriteLock {}
  }
  check("SequenceLocked") { _ in SequenceLocked((1, 2, 3)).store((4, 5, 6)) }
  check("Locked") { waits in
    let value = Locked(Item(), label: "label that is too long to be stored in place")
    value.withLock { $0 = Item() }
    if waits { _ = value.withLock(when: { _ in false }, until: passed) { _ in } }
  }
  check("ConditionVariable") { waits in
    let mutex = FastMutex()
    let condition = ConditionVariable()
    if waits { mutex.withLock { _ = condition.wait(mutex, until: passed) } }
    condition.broadcast()
  }
  check("ConditionLock") { waits in
    let lock = ConditionLock([1, 2])
    if waits { _ = lock.lock(when: [3], until: passed) }
    lock.withLock(settingTo: [3]) {}
  }
  check("CountingSemaphore") { waits in
    let semaphore = CountingSemaphore(1)
    if waits { _ = semaphore.acquire(2, until: passed) }
    semaphore.withPermits {}
  }
  check("CountdownLatch") { _ in CountdownLatch(1).countDownAndWait() }
  check("CyclicBarrier") { waits in
    let barrier = CyclicBarrier(2) { fatalError("nobody comes") }
    if waits { barrier.wait(until: passed) }
    barrier.reset()
  }
  check("Phaser") { waits in
    let phaser = Phaser(1)
    phaser.arriveAndWait()
    if waits { _ = phaser.wait(forEndOf: 1, until: passed) }
  }
  check("ResetEvent") { waits in
    let event = ResetEvent(.automatic)
    if waits { _ = event.wait(until: passed) }
    event.set()
  }
  check("Exchanger") { waits in
    let object = Exchanger<Item>()
    if waits { _ = object.exchange(Item(), until: passed) }
  }
  check("Parker") { waits in
    let parker = Parker()
    if waits { _ = parker.park(until: passed) }
    parker.unpark()
  }
  check("OnceFlag") { _ in OnceFlag().runOnce {} }
  check("LazyValue") { _ in _ = LazyValue { Item() }.value }
  check("AtomicFlag") { waits in
    let object = AtomicFlag()
    if waits { _ = object.wait(until: passed) }
  }
  check("AtomicCounter") { waits in
    let object = AtomicCounter()
    if waits { _ = object.wait(until: passed, when: { $0 == 1 }) }
  }
  check("AtomicBox") { _ in _ = AtomicBox(WordPair(first: 1, second: 2)).update { $0 } }
  check("AtomicReference") { _ in
    let reference = AtomicReference(Item())
    reference.store(Item())
    _ = reference.storeIfEmpty(Item())
  }
  check("StripedCounter") { _ in StripedCounter(stripes: 4).add() }

  let attributes: [PosixMutex.Attributes] = [
    .init(), .init(kind: .recursive, isRobust: true), .init(priorityProtocol: .inherit),
  ]
  for attributes in attributes {
    try check("PosixMutex \(attributes)") { _ in try PosixMutex(attributes).withLock { _ in } }
  }
  try check("PosixMutex that is refused") { _ in
    do {
      _ = try PosixMutex(.init(priorityProtocol: .protect(ceiling: 1_000)))
      fatalError("a ceiling of 1000 was accepted")
    } catch {
      guard (error as? ThreadingError)?.code == EINVAL else { throw error }
    }
  }
  try check("PosixReadWriteLock") { _ in
    try PosixReadWriteLock(preferring: .writers).withReadLock {}
  }
  try check("PosixCondition") { waits in
    let condition = try PosixCondition()
    let mutex = try PosixMutex()
    if waits { _ = try mutex.withLock { _ in try condition.wait(mutex, until: passed) } }
  }
  try check("PosixSemaphore") { waits in
    let object = try PosixSemaphore(0)
    if waits { _ = object.wait(until: passed) }
  }
  try check("PosixBarrier") { _ in try PosixBarrier(1).wait() }
  try check("PosixSpinLock") { _ in try PosixSpinLock().withLock {} }
}
