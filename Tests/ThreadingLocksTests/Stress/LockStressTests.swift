import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

// The invariant of each test is one that a lock which lets two in, loses a wake or loses count
// breaks for good; what a lock guards is plain memory, so the thread sanitizer sees a lock that
// orders nothing.

@Suite("Stress of the locks", .endsInTime)
struct LockStressTests {
  private final class Guarded<Lock: ~Copyable & Sendable>: Sendable {
    let lock: Lock
    let count = Unguarded(0)
    let other = Unguarded(0)
    init(_ lock: consuming sending Lock) { self.lock = lock }

    /// To be called with the lock held; yields at times, so that others come upon the lock held.
    func add(_ random: inout SeededGenerator) {
      let before = count.value
      if Int.random(in: 0..<256, using: &random) == 0 { SystemThread.yield() }
      count.value = before + 1
    }
  }

  /// How a thread comes to hold a lock, if it does.
  private enum Way: CaseIterable {
    case tries, givesUp, waits
  }

  /// Has threads take a lock in all ways and count with it held.
  private func count<Lock: ~Copyable & Sendable>(
    with lock: consuming sending Lock, threads: Int, seed: UInt64,
    take: @escaping @Sendable (borrowing Lock, Way) -> Bool,
    giveBack: @escaping @Sendable (borrowing Lock) -> Void
  ) throws {
    let shared = Guarded(lock)
    let taken = Atomic(0)
    try together(threads) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      var mine = 0
      for _ in 0..<(LongTests.operations / threads) {
        guard let way = Way.allCases.randomElement(using: &random), take(shared.lock, way) else {
          continue
        }
        shared.add(&random)
        mine += 1
        giveBack(shared.lock)
      }
      taken.wrappingAdd(mine, ordering: .relaxed)
    }
    #expect(shared.count.value == taken.load(ordering: .relaxed))
    // It is free again.
    let isFree = take(shared.lock, .tries)
    #expect(isFree)
    giveBack(shared.lock)
  }

  @Test("FastMutex: taken, tried and given up", .endsInTime, arguments: [UInt64(1)])
  func fastMutex(seed: UInt64) throws {
    try count(with: FastMutex(), threads: 4, seed: seed) { lock, way in
      switch way {
      case .tries: return lock.tryLock()
      case .givesUp: return lock.lock(until: passed)
      case .waits: lock.lock()
      }
      return true
    } giveBack: {
      $0.unlock()
    }
  }

  @Test("FairMutex: handed over, tried and given up", .endsInTime, arguments: [UInt64(1)])
  func fairMutex(seed: UInt64) throws {
    try count(with: FairMutex(), threads: 3, seed: seed) { lock, way in
      switch way {
      case .tries: return lock.tryLock()
      case .givesUp: return lock.lock(until: passed)
      case .waits: lock.lock()
      }
      return true
    } giveBack: {
      $0.unlock()
    }
  }

  @Test(
    "RecursiveLock: to any depth, tried and given up", .endsInTime,
    arguments: [UInt64(1)])
  func recursiveLock(seed: UInt64) throws {
    let shared = Guarded(RecursiveLock())
    let taken = Atomic(0)
    try together(3) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      var mine = 0
      for _ in 0..<(LongTests.operations / 6) {
        var depth = 0
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          switch Int.random(in: 0..<4, using: &random) {
          case 0: guard shared.lock.tryLock() else { continue }
          case 1: guard shared.lock.lock(until: passed) else { continue }
          default: shared.lock.lock()
          }
          depth += 1
          shared.add(&random)
        }
        if shared.lock.depth != depth { Issue.record("depth \(shared.lock.depth), not \(depth)") }
        mine += depth
        for _ in 0..<depth { shared.lock.unlock() }
      }
      taken.wrappingAdd(mine, ordering: .relaxed)
    }
    #expect(shared.count.value == taken.load(ordering: .relaxed))
  }

  @Test(
    "ReadWriteLock: read, written, upgraded and given up",
    .endsInTime, arguments: [UInt64(1)])
  func readWriteLock(seed: UInt64) throws {
    let shared = Guarded(ReadWriteLock())
    let written = Atomic(0)
    try together(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      var mine = 0
      func read() {
        let seen = shared.count.value
        if Int.random(in: 0..<256, using: &random) == 0 { SystemThread.yield() }
        if shared.other.value != seen { Issue.record("half of a write was seen") }
      }
      func write() {
        shared.add(&random)
        shared.other.value += 1
        mine += 1
      }
      for _ in 0..<(LongTests.operations / 4) {
        let givesUp = Bool.random(using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
          if givesUp {
            guard shared.lock.writeLock(until: passed) else { continue }
          } else {
            shared.lock.writeLock()
          }
          write()
          shared.lock.writeUnlock()
        case 2:
          if givesUp {
            guard shared.lock.upgradableLock(until: passed) else { continue }
          } else {
            shared.lock.upgradableLock()
          }
          let seen = shared.count.value
          read()
          if givesUp && !shared.lock.upgrade(until: passed) {
            if shared.count.value != seen { Issue.record("written beside an upgradable reader") }
            shared.lock.upgradableUnlock()
            continue
          }
          if !givesUp { shared.lock.upgrade() }
          if shared.count.value != seen { Issue.record("written before an upgrade") }
          write()
          shared.lock.writeUnlock()
        default:
          if givesUp {
            guard shared.lock.readLock(until: passed) else { continue }
          } else {
            shared.lock.readLock()
          }
          read()
          shared.lock.readUnlock()
        }
      }
      written.wrappingAdd(mine, ordering: .relaxed)
    }
    #expect(shared.count.value == written.load(ordering: .relaxed))
    #expect(shared.lock.tryWriteLock() == true)
    shared.lock.writeUnlock()
  }

  @Test(
    "SequenceLocked: no value is torn, no write lost", .endsInTime)
  func sequenceLocked() throws {
    struct Sample: BitwiseCopyable, Sendable {
      var first = 0
      var second = 0
      var third = 0
    }
    let shared = SequenceLocked(Sample())
    let rounds = LongTests.operations / 4
    try together(4) { index in
      var latest = 0
      for _ in 0..<rounds {
        if index < 2 {
          shared.update {
            $0.first += 1
            $0.second -= 1
            $0.third += 2
          }
        } else {
          let seen = shared.load()
          if seen.first != -seen.second || seen.third != 2 * seen.first {
            Issue.record("torn: \(seen)")
          }
          if seen.first < latest { Issue.record("\(seen.first) after \(latest)") }
          latest = seen.first
        }
      }
    }
    #expect(shared.load().first == 2 * rounds)
  }
}
