import Glibc
import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

/// What the tests wait for, and how many threads do.
private final class Shared: Sendable {
  let mutex = FastMutex()
  let condition = ConditionVariable()
  let other = FastMutex()
  /// Guarded by `mutex`.
  let tokens = Unguarded(0)
  /// Guarded by `mutex`: threads that are about to wait. A thread that then finds the mutex free
  /// knows that they wait, since waiting is what gave it back.
  let waiting = Unguarded(0)

  func untilWaiting(_ count: Int) {
    #expect(eventually { mutex.withLock { waiting.value == count } })
  }
}

@Suite("ConditionVariable", .endsInTime)
struct ConditionVariableTests {
  // MARK: Sequential rules

  @Test("a signal with nobody waiting is forgotten")
  func signalFirst() {
    let shared = Shared()
    shared.condition.signal()
    shared.condition.broadcast()
    shared.mutex.lock()
    #expect(shared.condition.wait(shared.mutex, for: .milliseconds(1)) == false)
    #expect(shared.mutex.isHeldByCurrentThread == true)
    shared.mutex.unlock()
  }

  @Test("a condition that holds already is not waited for")
  func holdsAlready() {
    let shared = Shared()
    shared.mutex.withLock {
      #expect(shared.condition.wait(shared.mutex) { true } == true)
      #expect(shared.condition.wait(shared.mutex, until: MonotonicInstant(nanoseconds: 0)) { true })
    }
  }

  @Test("signal wakes one of the threads that wait, broadcast all", .endsInTime)
  func wakes() throws {
    let shared = Shared()
    let joins = try (0..<4).map { _ in
      try inBackground {
        shared.mutex.withLock {
          shared.waiting.value += 1
          shared.condition.wait(shared.mutex) { shared.tokens.value > 0 }
          shared.tokens.value -= 1
          shared.waiting.value -= 1
        }
      }
    }
    shared.untilWaiting(4)
    shared.mutex.withLock { shared.tokens.value = 1 }
    shared.condition.signal()
    shared.untilWaiting(3)
    shared.mutex.withLock {
      shared.tokens.value = 3
      shared.condition.broadcast()
    }
    for join in joins { join() }
    #expect(shared.tokens.value == 0)
  }

  @Test(
    "threads that wait for different things are all released by broadcasts",
    .endsInTime)
  func differentConditions() throws {
    let shared = Shared()
    let stage = Unguarded(0)
    let joins = try (1...4).map { wanted in
      try inBackground {
        shared.mutex.withLock {
          shared.waiting.value += 1
          shared.condition.wait(shared.mutex) { stage.value >= wanted }
          shared.waiting.value -= 1
        }
      }
    }
    shared.untilWaiting(4)
    for next in 1...4 {
      shared.mutex.withLock { stage.value = next }
      shared.condition.broadcast()
      shared.untilWaiting(4 - next)
    }
    for join in joins { join() }
  }

  // MARK: Time

  @Test("a wait ends at its deadline, never before")
  func timedOut() {
    let shared = Shared()
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      for _ in 0..<20 {
        shared.mutex.withLock {
          let start = MonotonicInstant.now
          let duration = Duration.microseconds(microseconds)
          #expect(shared.condition.wait(shared.mutex, for: duration) { false } == false)
          #expect(start.duration(to: .now) >= duration)
          #expect(shared.mutex.isHeldByCurrentThread == true)
        }
      }
    }
  }

  @Test(
    "a wait without an end is ended by a signal", .endsInTime,
    arguments: [
      MonotonicInstant.distantFuture,
      MonotonicInstant.now.advanced(by: .seconds(1_000_000_000_000)),
    ])
  func distantDeadline(deadline: MonotonicInstant) throws {
    let shared = Shared()
    let join = try inBackground {
      shared.mutex.withLock {
        shared.waiting.value = 1
        #expect(shared.condition.wait(shared.mutex, until: deadline) { shared.tokens.value == 1 })
      }
    }
    shared.untilWaiting(1)
    shared.mutex.withLock { shared.tokens.value = 1 }
    shared.condition.signal()
    join()
  }

  @Test("what came to hold at the deadline is seen")
  func holdsAtTheDeadline() {
    let shared = Shared()
    shared.mutex.withLock {
      var asked = 0
      let answer = shared.condition.wait(shared.mutex, for: .milliseconds(1)) {
        asked += 1
        return asked == 2
      }
      #expect(answer)
    }
  }

  // MARK: Misuse

  @Test("even when the condition holds already")
  func withoutTheMutexThoughHolding() async {
    await #expect(processExitsWith: .failure) {
      let shared = Shared()
      wait(shared.condition, shared.mutex) { true }
    }
  }

  @Test("another mutex may be used when nobody waits with the first")
  func mutexesInTurn() {
    let shared = Shared()
    shared.mutex.withLock { _ = shared.condition.wait(shared.mutex, for: .zero) }
    shared.other.withLock { _ = shared.condition.wait(shared.other, for: .zero) }
  }

  // MARK: Stress

  @Test(
    "a bounded buffer loses nothing and nobody", .endsInTime,
    arguments: [UInt64(1), 2])
  func boundedBuffer(seed: UInt64) throws {
    final class Buffer: Sendable {
      let mutex = FastMutex()
      let notEmpty = ConditionVariable()
      let notFull = ConditionVariable()
      /// Guarded by `mutex`.
      let items = Unguarded([Int]())
      let sum = Unguarded(0)
      let taken = Unguarded(0)
    }
    let buffer = Buffer()
    let count = 25_000
    try concurrently(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      if index < 2 {
        for item in 0..<count {
          buffer.mutex.withLock {
            buffer.notFull.wait(buffer.mutex) { buffer.items.value.count < 8 }
            buffer.items.value.append(item)
            if Bool.random(using: &random) {
              buffer.notEmpty.signal()
            } else {
              buffer.notEmpty.broadcast()
            }
          }
        }
      } else {
        for _ in 0..<count {
          buffer.mutex.lock()
          // Gives up now and then, and comes back.
          while !buffer.notEmpty.wait(
            buffer.mutex, for: .microseconds(Int.random(in: 1...500, using: &random)),
            condition: { !buffer.items.value.isEmpty })
          {}
          buffer.sum.value += buffer.items.value.removeFirst()
          buffer.taken.value += 1
          buffer.mutex.unlock()
          buffer.notFull.signal()
        }
      }
    }
    #expect(buffer.taken.value == 2 * count)
    #expect(buffer.sum.value == count * (count - 1))
  }

  @Test("a ball passed between two threads is never dropped", .endsInTime)
  func pingPong() throws {
    let shared = Shared()
    try concurrently(2) { index in
      for _ in 0..<10_000 {
        shared.mutex.withLock {
          _ = shared.condition.wait(shared.mutex) { shared.tokens.value == index }
        }
        shared.mutex.withLock { shared.tokens.value = 1 - index }
        shared.condition.signal()
      }
    }
    #expect(shared.tokens.value == 0)
  }
}
