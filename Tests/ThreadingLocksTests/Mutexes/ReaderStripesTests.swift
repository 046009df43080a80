import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private final class Shared: Sendable {
  let lock = ReadWriteLock()
  let first = Unguarded(0)
  let second = Unguarded(0)

  init() { giveStripes() }

  /// As readers do that get in each other's way.
  func giveStripes() {
    lock.withReadLock { lock.turnOnStripes() }
  }

  func readLock() { lock.readLock() }
  func readUnlock() { lock.readUnlock() }
  func writeLock() { lock.writeLock() }
  func writeUnlock() { lock.writeUnlock() }
}

@Suite("ReadWriteLock with stripes for its readers", .endsInTime)
struct ReaderStripesTests {
  @Test("readers that get in each other's way are given stripes")
  func contention() throws {
    try #require(Processors.atStart > 1, "readers cannot collide on one processor")
    let lock = Placed(ReadWriteLock())
    #expect(lock.use { $0.hasStripes } == false)
    let limit = MonotonicInstant.now.advanced(by: .seconds(40))
    try concurrently(2) { _ in
      while !lock.use({ $0.hasStripes }) && MonotonicInstant.now < limit {
        for _ in 0..<1_000 { lock.use { $0.withReadLock {} } }
      }
    }
    #expect(lock.use { $0.hasStripes } == true)
    lock.destroy()
  }

  @Test("readers share, a writer is alone and takes the stripes back")
  func sharing() throws {
    let shared = Shared()
    shared.lock.withReadLock {
      try? concurrently(3) { _ in
        #expect(shared.lock.tryReadLock() == true)
        #expect(shared.lock.tryWriteLock() == false)
        shared.lock.readUnlock()
      }
      #expect(shared.lock.tryReadLock() == true, "by the word, where the stripe is taken")
      shared.lock.readUnlock()
    }
    shared.giveStripes()
    #expect(shared.lock.hasStripes == true)
    try shared.lock.withWriteLock {
      #expect(shared.lock.hasStripes == false)
      #expect(shared.lock.isHeldForWritingByCurrentThread == true)
      try concurrently(1) { _ in
        #expect(shared.lock.tryReadLock() == false)
        #expect(shared.lock.tryUpgradableLock() == false)
      }
    }
  }

  @Test("a writer waits for a reader with a stripe, and keeps others out meanwhile")
  func writerWaits() throws {
    let shared = Shared()
    let order = Unguarded<[String]>([])
    shared.lock.readLock()
    let writer = try waiting {
      shared.lock.withWriteLock { order.value.append("writer") }
    }
    let reader = try waiting {
      shared.lock.withReadLock { order.value.append("reader") }
    }
    #expect(shared.lock.tryReadLock() == false)
    shared.lock.readUnlock()
    writer()
    reader()
    #expect(order.value == ["writer", "reader"])
  }

  @Test("a writer that gives up lets readers in again")
  func writerGivesUp() throws {
    let shared = Shared()
    shared.lock.readLock()
    try concurrently(1) { _ in
      let start = MonotonicInstant.now
      #expect(shared.lock.writeLock(for: .milliseconds(2)) == false)
      #expect(start.duration(to: .now) >= .milliseconds(2))
      #expect(shared.lock.isHeldForWritingByCurrentThread == false)
      #expect(shared.lock.tryReadLock() == true)
      shared.lock.readUnlock()
    }
    shared.lock.readUnlock()
    #expect(shared.lock.tryWriteLock() == true)
    shared.lock.writeUnlock()
  }

  @Test("an upgrade waits for a reader with a stripe, or gives up and still holds what it held")
  func upgrading() throws {
    let shared = Shared()
    shared.lock.readLock()
    try concurrently(1) { _ in
      shared.lock.upgradableLock()
      #expect(shared.lock.upgrade(for: .milliseconds(1)) == false)
      #expect(shared.lock.isHeldForWritingByCurrentThread == false)
      shared.lock.upgradableUnlock()
    }
    let upgrader = try waiting {
      shared.lock.upgradableLock()
      shared.lock.upgrade()
      #expect(shared.lock.isHeldForWritingByCurrentThread == true)
      shared.first.value = 1
      shared.lock.writeUnlock()
    }
    #expect(shared.first.value == 0)
    shared.lock.readUnlock()
    upgrader()
    #expect(shared.first.value == 1)
  }

  @Test("an upgrade at once waits for nobody, and takes the stripes back")
  func upgradingAtOnce() throws {
    let shared = Shared()
    shared.lock.upgradableLock()
    #expect(shared.lock.hasStripes == true)
    #expect(shared.lock.upgrade(until: passed) == true)
    #expect(shared.lock.hasStripes == false)
    #expect(shared.lock.isHeldForWritingByCurrentThread == true)
    shared.lock.writeUnlock()
  }

  @Test("one that may upgrade cannot read beside itself", arguments: [false, true])
  func readingBesideOwnUpgradable(withStripes: Bool) {
    let shared = Shared()
    if !withStripes {
      shared.lock.withWriteLock {}
    }
    shared.lock.upgradableLock()
    #expect(shared.lock.hasStripes == withStripes)
    #expect(shared.lock.tryReadLock() == false)
    shared.lock.upgradableUnlock()
  }

  @Test("a try for writing that fails leaves the readers their stripes")
  func failingTry() throws {
    let shared = Shared()
    try shared.lock.withReadLock {
      try concurrently(1) { _ in #expect(shared.lock.tryWriteLock() == false) }
      #expect(shared.lock.hasStripes == true)
    }
    #expect(shared.lock.tryWriteLock() == true)
    shared.lock.writeUnlock()
  }

  // MARK: Misuse

  @Test("giving back another thread's stripe stops the program")
  func unlockByStranger() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let shared = Shared()
      shared.readLock()
      try concurrently(1) { _ in shared.readUnlock() }
    }
    #expect(message(of: result).contains("ReadWriteLock.readUnlock: no thread holds the lock"))
  }

  // MARK: Stress

  @Test("no reader is refused because of another thread's try for writing that fails")
  func triesBesideTries() throws {
    let shared = Shared()
    let isOver = Atomic(false)
    let tries = LongTests.operations
    // Held all the time, by the word or by a stripe: so no try for writing succeeds.
    try shared.lock.withReadLock {
      try together(4) { index in
        switch index {
        case 0:
          for _ in 0..<tries {
            guard shared.lock.tryReadLock() else {
              Issue.record("refused, while only readers held the lock")
              break
            }
            shared.lock.readUnlock()
          }
          isOver.store(true, ordering: .relaxed)
        case 1:
          while !isOver.load(ordering: .relaxed) {
            // Twice, so that it holds the word too.
            guard shared.lock.tryReadLock() && shared.lock.tryReadLock() else {
              Issue.record("refused, while only readers held the lock")
              break
            }
            shared.lock.turnOnStripes()
            shared.lock.readUnlock()
            shared.lock.readUnlock()
          }
        case 2:
          while !isOver.load(ordering: .relaxed) {
            guard shared.lock.tryUpgradableLock() else {
              Issue.record("refused, while only readers held the lock")
              break
            }
            shared.lock.upgradableUnlock()
          }
        default:
          while !isOver.load(ordering: .relaxed) {
            guard shared.lock.tryWriteLock() else { continue }
            Issue.record("written beside a reader")
            shared.lock.writeUnlock()
          }
        }
      }
    }
  }

  @Test("what is written together is read together", arguments: [UInt64(1), 2, 3])
  func stress(seed: UInt64) throws {
    let shared = Shared()
    let writes = Atomic(0)
    try concurrently(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for _ in 0..<8_000 {
        switch Int.random(in: 0..<64, using: &random) {
        case 0:
          let isIn = Bool.random(using: &random)
          if isIn { shared.lock.writeLock() }
          guard isIn || shared.lock.writeLock(for: .microseconds(20)) else { continue }
          shared.first.value += 1
          if Bool.random(using: &random) { SystemThread.yield() }
          shared.second.value += 1
          writes.wrappingAdd(1, ordering: .relaxed)
          shared.lock.writeUnlock()
        case 1:
          shared.lock.upgradableLock()
          guard shared.lock.upgrade(for: .microseconds(20)) else {
            shared.lock.upgradableUnlock()
            continue
          }
          shared.first.value += 1
          shared.second.value += 1
          writes.wrappingAdd(1, ordering: .relaxed)
          shared.lock.writeUnlock()
        case 2...6:
          // Not by the stripe, which the first reading may have.
          shared.lock.withReadLock {
            if shared.lock.tryReadLock() {
              shared.lock.turnOnStripes()
              shared.lock.readUnlock()
            }
          }
        default:
          shared.lock.withReadLock {
            if shared.first.value != shared.second.value {
              Issue.record("half of a write was seen")
            }
          }
        }
      }
    }
    #expect(shared.first.value == writes.load(ordering: .relaxed))
    #expect(shared.lock.tryWriteLock() == true, "nothing is left behind")
    shared.lock.writeUnlock()
  }
}
