import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Locked, waiting for what holds of the value", .endsInTime)
struct LockedWhenTests {
  @Test("a wait for a condition ends at its deadline, also where the lock itself is not to be had")
  func lockIsHeld() throws {
    let value = Locked(0)
    let isAsked = Atomic(false)
    try value.withLock { _ in
      try concurrently(1) { _ in
        let start = MonotonicInstant.now
        let result: Int? = value.withLock(
          when: { _ in
            isAsked.store(true, ordering: .relaxed)
            return true
          }, for: .milliseconds(2)
        ) { _ in 1 }
        #expect(result == nil)
        #expect(start.duration(to: .now) >= .milliseconds(2))
      }
    }
    #expect(isAsked.load(ordering: .relaxed) == false)
  }

  @Test("what holds already is not waited for")
  func holdsAlready() {
    let value = Locked(1)
    #expect(value.withLock(when: { $0 == 1 }) { $0 } == 1)
    #expect(value.withLock(when: { $0 == 1 }, for: .zero) { $0 } == 1)
  }

  @Test("a change made by any call is noticed, without a signal", .endsInTime)
  func noticed() throws {
    let value = Locked(0)
    let joins = try (1...4).map { step in
      try waiting { value.withLock(when: { $0 == step }) { $0 += 1 } }
    }
    value.withLock { $0 = 1 }
    for join in joins { join() }
    #expect(value.withLock { $0 } == 5)
  }

  @Test("two threads that wait for different things are both released", .endsInTime)
  func different() throws {
    let value = Locked((first: false, second: false))
    let second = try waiting { value.withLock(when: { $0.second }) { _ in } }
    let first = try waiting { value.withLock(when: { $0.first }) { _ in } }
    _ = value.withLockIfAvailable { $0.first = true }
    first()
    _ = value.withLock(for: .seconds(60)) { $0.second = true }
    second()
  }

  @Test("those that wait for the same are served in order", .endsInTime)
  func inOrder() throws {
    let value = Locked((tokens: 0, served: [Int]()))
    let joins = try (0..<3).map { index in
      try waiting {
        value.withLock(when: { $0.tokens > 0 }) {
          $0.tokens -= 1
          $0.served.append(index)
        }
      }
    }
    for count in 1...3 {
      value.withLock { $0.tokens += 1 }
      value.withLock(when: { $0.served.count == count }) { _ in }
    }
    for join in joins { join() }
    #expect(value.withLock { $0.served } == [0, 1, 2])
  }

  @Test("one that was woken for nothing keeps its place", .endsInTime)
  func keepsItsPlace() throws {
    let value = Locked((tokens: 0, served: [Int]()))
    let first = Atomic<UInt32>(0)
    // The first to wait finds its condition false once when it has been woken, as if another
    // thread had been quicker.
    let refusesOnce = Atomic(false)
    let joins = try (0..<2).map { index in
      try waiting {
        if index == 0 { first.store(SystemThread.currentID, ordering: .relaxed) }
        value.withLock(when: {
          let isWoken = first.load(ordering: .relaxed) == SystemThread.currentID
          if isWoken && refusesOnce.exchange(false, ordering: .relaxed) { return false }
          return $0.tokens > 0
        }) {
          $0.tokens -= 1
          $0.served.append(index)
        }
      }
    }
    refusesOnce.store(true, ordering: .relaxed)
    for count in 1...2 {
      value.withLock { $0.tokens += 1 }
      value.withLock(when: { $0.served.count == count }) { _ in }
    }
    for join in joins { join() }
    #expect(value.withLock { $0.served } == [0, 1])
    #expect(refusesOnce.load(ordering: .relaxed) == false)
  }

  @Test("a wait ends at its deadline, never before, and the body does not run")
  func timedOut() {
    let value = Locked(0)
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      for _ in 0..<10 {
        let start = MonotonicInstant.now
        let duration = Duration.microseconds(microseconds)
        #expect(value.withLock(when: { $0 == 1 }, for: duration) { _ in 1 } == nil)
        #expect(start.duration(to: .now) >= duration)
      }
    }
    #expect(value.withLockIfAvailable { $0 } == 0)
  }

  @Test("holds values that cannot be copied, and errors give the lock back")
  func notCopyable() {
    struct File: ~Copyable { var isOpen = true }
    struct Refusal: Error {}
    let file = Locked(File())
    #expect(throws: Refusal.self) {
      try file.withLock(when: { $0.isOpen }) { _ throws(Refusal) in throw Refusal() }
    }
    file.withLock(when: { $0.isOpen }) { $0.isOpen = false }
    #expect(file.withLock { $0.isOpen } == false)
  }

  @Test(
    "a bounded buffer loses nothing and nobody", .endsInTime, arguments: [UInt64(1)])
  func stress(seed: UInt64) throws {
    let buffer = Locked([Int]())
    let sum = Atomic(0)
    let count = 10_000
    try concurrently(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      if index < 2 {
        for item in 0..<count { buffer.withLock(when: { $0.count < 4 }) { $0.append(item) } }
      } else {
        var taken = 0
        while taken < count {
          let limit = Duration.microseconds(Int.random(in: 0...200, using: &random))
          let item = buffer.withLock(when: { !$0.isEmpty }, for: limit) { $0.removeFirst() }
          guard let item else { continue }
          sum.wrappingAdd(item, ordering: .relaxed)
          taken += 1
        }
      }
    }
    #expect(sum.load(ordering: .relaxed) == count * (count - 1))
    #expect(buffer.withLock { $0.isEmpty })
  }
}

private func waitForOne(_ value: borrowing Locked<Int>) {
  value.withLock(when: { $0 == 1 }) { _ in }
}
