import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private enum Stage: Sendable {
  case empty, full
}

private func lock<State>(_ lock: ConditionLock<State>) { lock.lock() }
private func unlock<State>(_ lock: ConditionLock<State>) { lock.unlock() }

@Suite("ConditionLock", .endsInTime)
struct ConditionLockTests {
  @Test("is taken in the state that is wanted, and given back in another")
  func states() {
    let lock = ConditionLock(Stage.empty)
    #expect(lock.state == .empty)
    #expect(!lock.tryLock(when: .full))
    lock.lock(when: .empty)
    #expect(lock.isHeldByCurrentThread)
    #expect(!lock.tryLock())
    lock.unlock(settingTo: .full)
    #expect(!lock.isHeldByCurrentThread)
    #expect(!lock.tryLock(when: .empty))
    #expect(lock.tryLock(when: .full))
    lock.unlock()
    #expect(lock.state == .full)
    #expect(lock.tryLock())
    lock.unlock()
  }

  @Test("withLock leaves the new state when the body returns, the old one when it throws")
  func scoped() {
    struct Refusal: Error {}
    let lock = ConditionLock(1)
    #expect(lock.withLock(when: 1, settingTo: 2) { 5 } == 5)
    #expect(lock.state == 2)
    #expect(throws: Refusal.self) { try lock.withLock(settingTo: 3) { throw Refusal() } }
    #expect(lock.state == 2)
    #expect(lock.tryLock(when: 2))
    lock.unlock()
  }

  @Test("giving it back hands it to the thread that waits for the state", .endsInTime)
  func handsOver() throws {
    let lock = ConditionLock(0)
    let order = Locked<[Int]>([])
    lock.lock()
    // Each waits for the state that the one before it leaves, begun in the opposite order.
    let joins = try [3, 2, 1].map { state in
      try waiting {
        lock.withLock(when: state, settingTo: state + 1) { order.withLock { $0.append(state) } }
      }
    }
    lock.unlock(settingTo: 1)
    for join in joins { join() }
    #expect(order.withLock { $0 } == [1, 2, 3])
    #expect(lock.state == 4)
  }

  @Test("threads that wait for any state are served in order", .endsInTime)
  func inOrder() throws {
    let lock = ConditionLock(0)
    let order = Locked<[Int]>([])
    lock.lock()
    let joins = try (0..<3).map { index in
      try waiting { lock.withLock { order.withLock { $0.append(index) } } }
    }
    lock.unlock()
    for join in joins { join() }
    #expect(order.withLock { $0 } == [0, 1, 2])
  }

  @Test("a wait ends at its deadline, never before, whether held or in another state")
  func timedOut() throws {
    let lock = ConditionLock(0)
    for milliseconds in [-1, 0, 1, 4] {
      let start = MonotonicInstant.now
      #expect(!lock.lock(when: 1, for: .milliseconds(milliseconds)))
      #expect(start.duration(to: .now) >= .milliseconds(milliseconds))
    }
    lock.lock()
    try concurrently(1) { _ in
      let start = MonotonicInstant.now
      #expect(!lock.lock(for: .milliseconds(2)))
      #expect(!lock.lock(when: 0, until: .now.advanced(by: .milliseconds(2))))
      #expect(start.duration(to: .now) >= .milliseconds(4))
    }
    lock.unlock()
    #expect(lock.lock(when: 0, until: MonotonicInstant(nanoseconds: 0)))
    lock.unlock()
  }

  @Test("a wait without an end gets the lock", .endsInTime)
  func distantDeadline() throws {
    let lock = ConditionLock(0)
    lock.lock()
    let any = try waiting {
      #expect(lock.lock(until: .distantFuture))
      lock.unlock(settingTo: 1)
    }
    let state = try waiting {
      #expect(lock.lock(when: 1, for: .seconds(1_000_000_000_000)))
      lock.unlock()
    }
    lock.unlock()
    any()
    state()
  }

  @Test("a ring of threads, each with its state, takes turns", .endsInTime)
  func ring() throws {
    let lock = ConditionLock(0)
    let count = Unguarded(0)
    try concurrently(4) { index in
      for round in 0..<2_500 {
        lock.withLock(when: index, settingTo: (index + 1) % 4) {
          if count.value != round * 4 + index { Issue.record("out of turn") }
          count.value += 1
        }
      }
    }
    #expect(count.value == 10_000)
    #expect(lock.state == 0)
  }

  @Test(
    "excludes under load of every kind of wait", .endsInTime, arguments: [UInt64(1)])
  func stress(seed: UInt64) throws {
    let lock = ConditionLock(0)
    let count = Unguarded(0)
    let taken = Atomic(0)
    try concurrently(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for _ in 0..<10_000 {
        let wanted = Int.random(in: 0..<3, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          guard lock.tryLock(when: wanted) else { continue }
        case 1:
          let microseconds = Int.random(in: 0..<50, using: &random)
          guard lock.lock(when: wanted, for: .microseconds(microseconds)) else { continue }
        case 2:
          guard lock.lock(for: .microseconds(20)) else { continue }
        default:
          lock.lock()
        }
        count.value += 1
        taken.wrappingAdd(1, ordering: .relaxed)
        lock.unlock(settingTo: Int.random(in: 0..<3, using: &random))
      }
    }
    #expect(count.value == taken.load(ordering: .relaxed))
  }

  @Test("a hundred thousand of them leave no memory behind")
  func memory() {
    let alive = Unguarded(0)
    final class State: Equatable, Sendable {
      let alive: Unguarded<Int>
      init(_ alive: Unguarded<Int>) {
        self.alive = alive
        alive.value += 1
      }
      deinit { alive.value -= 1 }
      static func == (left: State, right: State) -> Bool { left === right }
    }
    for _ in 0..<100_000 { _ = ConditionLock(State(alive)) }
    #expect(alive.value == 0)
  }
}
