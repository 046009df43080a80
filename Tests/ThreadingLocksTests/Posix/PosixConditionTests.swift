import Glibc
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("PosixCondition", .endsInTime)
struct PosixConditionTests {
  @Test("a ball passed between two threads is never dropped", .endsInTime)
  func pingPong() throws {
    let mutex = try PosixMutex()
    let condition = try PosixCondition()
    let turn = Unguarded(0)
    try concurrently(2) { index in
      for round in 0..<5_000 {
        try? mutex.withLock { _ in
          while turn.value != index { try condition.wait(mutex) }
          turn.value = 1 - index
          if round.isMultiple(of: 2) { condition.signal() } else { condition.broadcast() }
        }
      }
    }
    #expect(turn.value == 0)
  }

  @Test("a wait ends at its deadline, never before, on either clock")
  func timed() throws {
    let mutex = try PosixMutex()
    let condition = try PosixCondition()
    try mutex.withLock { _ in
      for milliseconds in [-1, 0, 1, 4] {
        let start = MonotonicInstant.now
        let outcome = try condition.wait(mutex, for: .milliseconds(milliseconds))
        #expect(outcome == .timedOut)
        #expect(start.duration(to: .now) >= .milliseconds(milliseconds))
        var now = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &now)
        let date = Duration.seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
        let limit = date + .milliseconds(milliseconds)
        let dated = try condition.wait(mutex, untilRealtime: limit)
        #expect(dated == .timedOut)
        _ = unsafe clock_gettime(CLOCK_REALTIME, &now)
        #expect(Duration.seconds(now.tv_sec) + .nanoseconds(now.tv_nsec) >= limit)
      }
    }
  }

  @Test("a wait without an end is ended by a signal", .endsInTime)
  func distantDeadline() throws {
    let mutex = try PosixMutex()
    let condition = try PosixCondition()
    let isReady = Unguarded(false)
    let join = try waiting {
      try? mutex.withLock { _ in
        let deadline = MonotonicInstant.now.advanced(by: .seconds(1_000_000_000_000))
        while !isReady.value {
          let outcome = try condition.wait(mutex, until: deadline)
          #expect(outcome == .woken)
        }
      }
    }
    try mutex.withLock { _ in isReady.value = true }
    condition.broadcast()
    join()
  }

  @Test("waiting without an error-checking mutex is refused")
  func misuse() throws {
    let mutex = try PosixMutex(.init(kind: .errorChecking))
    let condition = try PosixCondition()
    #expect { try condition.wait(mutex, for: .zero) } throws: {
      ($0 as? ThreadingError)?.code == EPERM
    }
  }

  @Test(
    "a condition in shared memory is one, however many objects look at it", .endsInTime)
  func shared() throws {
    let memory = SharedMemory(
      byteCount: PosixCondition.memorySize, alignment: PosixCondition.memoryAlignment)
    let lockMemory = SharedMemory(
      byteCount: PosixMutex.memorySize, alignment: PosixMutex.memoryAlignment)
    let first = try unsafe PosixCondition(sharedAt: memory.address)
    let second = unsafe PosixCondition(attachedTo: memory.address)
    let mutex = try unsafe PosixMutex(sharedAt: lockMemory.address)
    let isReady = Unguarded(false)
    let join = try waiting {
      try? mutex.withLock { _ in while !isReady.value { try first.wait(mutex) } }
    }
    try mutex.withLock { _ in isReady.value = true }
    second.signal()
    join()
  }
}
