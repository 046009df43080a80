import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private final class Shared: Sendable {
  let lock = ReadWriteLock()
  let first = Unguarded(0)
  let second = Unguarded(0)

  func readUnlock() { lock.readUnlock() }
  func writeUnlock() { lock.writeUnlock() }
  func writeLock() { lock.writeLock() }
  func readLock() { lock.readLock() }
  func upgrade() { lock.upgrade() }
}

@Suite("ReadWriteLock", .endsInTime)
struct ReadWriteLockTests {
  // MARK: Sequential rules

  @Test("readers share, a writer is alone")
  func sharing() throws {
    let shared = Shared()
    shared.lock.withReadLock {
      try? concurrently(1) { _ in
        #expect(shared.lock.tryReadLock() == true)
        #expect(shared.lock.tryWriteLock() == false)
        shared.lock.readUnlock()
      }
    }
    try shared.lock.withWriteLock {
      #expect(shared.lock.isHeldForWritingByCurrentThread == true)
      try concurrently(1) { _ in
        #expect(shared.lock.tryReadLock() == false)
        #expect(shared.lock.tryWriteLock() == false)
        #expect(shared.lock.tryUpgradableLock() == false)
        #expect(shared.lock.isHeldForWritingByCurrentThread == false)
      }
    }
    #expect(shared.lock.isHeldForWritingByCurrentThread == false)
    #expect(shared.lock.tryWriteLock() == true)
    shared.lock.writeUnlock()
  }

  @Test("the scoped forms give the lock back when the body throws")
  func throwing() {
    struct Refusal: Error {}
    let lock = ReadWriteLock()
    #expect(throws: Refusal.self) { try lock.withReadLock { throw Refusal() } }
    #expect(throws: Refusal.self) { try lock.withWriteLock { throw Refusal() } }
    #expect(lock.withWriteLock { 1 } == 1)
  }

  @Test(
    "an upgradable reader shares with readers, upgrades when they have left, and downgrades",
    .endsInTime)
  func upgrading() throws {
    let shared = Shared()
    let readerIsIn = CountingSemaphore(0)
    let readerMayLeave = CountingSemaphore(0)
    shared.lock.upgradableLock()
    let reader = try inBackground {
      shared.lock.withReadLock {
        readerIsIn.release()
        readerMayLeave.acquire()
        #expect(shared.first.value == 0, "nothing is written while a reader is in")
      }
    }
    readerIsIn.acquire()
    try concurrently(1) { _ in
      #expect(shared.lock.tryUpgradableLock() == false)
      #expect(shared.lock.tryWriteLock() == false)
    }
    #expect(shared.lock.upgrade(for: .milliseconds(2)) == false)
    #expect(shared.lock.isHeldForWritingByCurrentThread == false)
    // The upgrade that was given up keeps nobody out.
    try concurrently(1) { _ in
      #expect(shared.lock.tryReadLock() == true)
      shared.lock.readUnlock()
    }
    readerMayLeave.release()
    shared.lock.upgrade()
    shared.first.value = 1
    #expect(shared.lock.isHeldForWritingByCurrentThread == true)
    reader()
    shared.lock.downgrade()
    try concurrently(1) { _ in
      shared.lock.withReadLock { #expect(shared.first.value == 1) }
      #expect(shared.lock.tryWriteLock() == false)
    }
    // Twice in a row.
    shared.lock.upgrade()
    shared.lock.downgrade()
    shared.lock.upgradableUnlock()
    #expect(shared.lock.tryWriteLock() == true)
    shared.lock.writeUnlock()
  }

  @Test("an upgrade comes before a writer that waits", .endsInTime)
  func upgradeBeforeWriter() throws {
    let shared = Shared()
    shared.lock.upgradableLock()
    let writer = try waiting {
      shared.lock.withWriteLock { #expect(shared.first.value == 1) }
    }
    shared.lock.upgrade()
    shared.first.value = 1
    shared.lock.writeUnlock()
    writer()
  }

  @Test("a downgrade lets readers in that wait", .endsInTime)
  func downgradeWakes() throws {
    let shared = Shared()
    shared.lock.writeLock()
    let reader = try waiting { shared.lock.withReadLock { #expect(shared.first.value == 1) } }
    shared.first.value = 1
    shared.lock.downgrade()
    reader()
    shared.lock.upgradableUnlock()
  }

  // MARK: Order

  @Test("a writer that waits keeps new readers out, and gets in", .endsInTime)
  func writerIsNotStarved() throws {
    let shared = Shared()
    shared.lock.readLock()
    let writer = try waiting { shared.lock.withWriteLock { shared.first.value = 1 } }
    #expect(shared.lock.tryReadLock() == false)
    let reader = try waiting {
      shared.lock.withReadLock { #expect(shared.first.value == 1) }
    }
    shared.lock.readUnlock()
    writer()
    reader()
  }

  @Test("a writer that gives up lets the readers behind it in", .endsInTime)
  func writerGivesUp() throws {
    let shared = Shared()
    let readerIsIn = CountingSemaphore(0)
    shared.lock.readLock()
    let writer = try waiting { #expect(shared.lock.writeLock(for: .milliseconds(200)) == false) }
    // Comes while the writer waits, most likely; gets in while the first reader stays, in any case.
    let reader = try inBackground { shared.lock.withReadLock { readerIsIn.release() } }
    readerIsIn.acquire()
    writer()
    reader()
    #expect(shared.lock.tryReadLock() == true)
    shared.lock.readUnlock()
    shared.lock.readUnlock()
  }

  @Test("readers that stand together are let in together", .endsInTime)
  func readersTogether() throws {
    let shared = Shared()
    let meeting = Meeting()
    shared.lock.writeLock()
    let readers = try (0..<3).map { _ in
      try waiting { shared.lock.withReadLock { meeting.arriveAndWait(for: 3) } }
    }
    shared.lock.writeUnlock()
    for reader in readers { reader() }
  }

  // MARK: Time

  @Test("a wait ends at its deadline, never before")
  func timedOut() throws {
    let shared = Shared()
    shared.lock.writeLock()
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      let duration = Duration.microseconds(microseconds)
      try concurrently(3) { index in
        for _ in 0..<10 {
          let start = MonotonicInstant.now
          switch index {
          case 0: #expect(shared.lock.readLock(for: duration) == false)
          case 1: #expect(shared.lock.writeLock(for: duration) == false)
          default: #expect(shared.lock.upgradableLock(for: duration) == false)
          }
          #expect(start.duration(to: .now) >= duration)
        }
      }
    }
    shared.lock.writeUnlock()
    #expect(shared.lock.writeLock(until: MonotonicInstant(nanoseconds: 0)) == true)
    shared.lock.writeUnlock()
    #expect(shared.lock.readLock(until: MonotonicInstant(nanoseconds: 0)) == true)
    shared.lock.readUnlock()
    #expect(shared.lock.upgradableLock(until: MonotonicInstant(nanoseconds: 0)) == true)
    shared.lock.upgradableUnlock()
  }

  @Test("a wait without an end gets the lock", .endsInTime)
  func distantDeadline() throws {
    let shared = Shared()
    shared.lock.writeLock()
    let reader = try waiting {
      #expect(shared.lock.readLock(until: .distantFuture) == true)
      shared.lock.readUnlock()
    }
    let writer = try waiting {
      #expect(shared.lock.writeLock(for: .seconds(1_000_000_000_000)) == true)
      shared.lock.writeUnlock()
    }
    shared.lock.writeUnlock()
    reader()
    writer()
  }

  // MARK: Misuse

  @Test("upgrading without the right to stops the program")
  func upgradeUnheld() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let shared = Shared()
      shared.lock.withReadLock { shared.upgrade() }
    }
    #expect(message(of: result).contains("ReadWriteLock.upgrade: the calling thread does not hold"))
  }

  // MARK: Stress

  @Test(
    "what is written together is read together", .endsInTime,
    arguments: [UInt64(1), 2])
  func stress(seed: UInt64) throws {
    let shared = Shared()
    let writes = Atomic(0)
    try concurrently(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      func write() {
        let next = shared.first.value + 1
        shared.first.value = next
        if Int.random(in: 0..<32, using: &random) == 0 { SystemThread.yield() }
        shared.second.value = next
        writes.wrappingAdd(1, ordering: .relaxed)
      }
      func check() {
        if shared.first.value != shared.second.value { Issue.record("half of a write was seen") }
      }
      for _ in 0..<12_000 {
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
          shared.lock.withWriteLock { write() }
        case 1:
          guard shared.lock.writeLock(for: .microseconds(5)) else { continue }
          write()
          shared.lock.writeUnlock()
        case 2:
          shared.lock.upgradableLock()
          let before = shared.first.value
          if Bool.random(using: &random) {
            shared.lock.upgrade()
          } else if !shared.lock.upgrade(for: .microseconds(5)) {
            check()
            shared.lock.upgradableUnlock()
            continue
          }
          if shared.first.value != before { Issue.record("a writer came before the upgrade") }
          write()
          if Bool.random(using: &random) {
            shared.lock.downgrade()
            check()
            shared.lock.upgradableUnlock()
          } else {
            shared.lock.writeUnlock()
          }
        case 3:
          guard shared.lock.readLock(for: .microseconds(5)) else { continue }
          check()
          shared.lock.readUnlock()
        default:
          shared.lock.withReadLock { check() }
        }
      }
    }
    #expect(shared.first.value == writes.load(ordering: .relaxed))
    #expect(shared.lock.tryWriteLock() == true, "nothing is left behind")
    shared.lock.writeUnlock()
  }
}

/// Holds threads until as many as wanted have come: whoever comes must not have to wait for a lock
/// that another of them holds.
private final class Meeting: Sendable {
  private let mutex = FastMutex()
  private let complete = ConditionVariable()
  private let arrived = Unguarded(0)

  func arriveAndWait(for count: Int) {
    mutex.withLock {
      arrived.value += 1
      complete.broadcast()
      complete.wait(mutex) { arrived.value >= count }
    }
  }
}
