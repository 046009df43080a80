import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Stress of the conditions", .endsInTime)
struct ConditionStressTests {
  private final class Buffer: Sendable {
    let mutex = FastMutex()
    let isNotEmpty = ConditionVariable()
    let isNotFull = ConditionVariable()
    let items = Unguarded([Int]())
  }

  @Test(
    "ConditionVariable: a bounded buffer loses nothing and nobody, with waits that give up",
    .endsInTime, arguments: [UInt64(1)])
  func conditionVariable(seed: UInt64) throws {
    let buffer = Buffer()
    let count = LongTests.operations / 4
    let sum = Atomic(0)
    try together(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      var mine = 0
      for item in 0..<count {
        // How often it gives up before it waits without a limit.
        var tries = Int.random(in: 0...4, using: &random)
        let broadcasts = Int.random(in: 0..<4, using: &random) == 0
        if index < 2 {
          buffer.mutex.lock()
          while buffer.items.value.count == 2 {
            buffer.isNotFull.wait(buffer.mutex, until: tries > 0 ? passed : .distantFuture)
            tries -= 1
          }
          buffer.items.value.append(item)
          buffer.mutex.unlock()
          if broadcasts { buffer.isNotEmpty.broadcast() } else { buffer.isNotEmpty.signal() }
        } else {
          buffer.mutex.lock()
          while buffer.items.value.isEmpty {
            buffer.isNotEmpty.wait(buffer.mutex, until: tries > 0 ? passed : .distantFuture)
            tries -= 1
          }
          mine += buffer.items.value.removeFirst()
          // Inside the lock at times: both are allowed.
          if broadcasts { buffer.isNotFull.broadcast() }
          buffer.mutex.unlock()
          if !broadcasts { buffer.isNotFull.signal() }
        }
      }
      sum.wrappingAdd(mine, ordering: .relaxed)
    }
    #expect(sum.load(ordering: .relaxed) == count * (count - 1))
    #expect(buffer.items.value.isEmpty)
  }

  @Test(
    "ConditionLock: a ring of states, beside threads that give up and threads that take any",
    .endsInTime, arguments: [UInt64(1)])
  func conditionLock(seed: UInt64) throws {
    let lock = ConditionLock(0)
    let count = Unguarded(0)
    let steps = LongTests.operations / 6
    let extra = Atomic(0)
    try together(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      if index < 2 {
        for _ in 0..<steps {
          if Bool.random(using: &random) {
            waitImpatiently { lock.lock(when: index, until: $0) }
          } else {
            lock.lock(when: index)
          }
          count.value += 1
          lock.unlock(settingTo: 1 - index)
        }
        return
      }
      var mine = 0
      for _ in 0..<steps {
        switch index {
        case 2:
          guard lock.lock(until: passed) else { continue }
        default:
          lock.lock()
        }
        count.value += 1
        mine += 1
        if Int.random(in: 0..<256, using: &random) == 0 { SystemThread.yield() }
        lock.unlock()
      }
      extra.wrappingAdd(mine, ordering: .relaxed)
    }
    #expect(count.value == 2 * steps + extra.load(ordering: .relaxed))
    #expect(lock.state == 0)
  }

  @Test(
    "Locked: what is waited for comes to all, with waits that give up",
    .endsInTime, arguments: [UInt64(1)])
  func lockedWhen(seed: UInt64) throws {
    let buffer = Locked((items: 0, taken: 0))
    let count = LongTests.operations / 4
    try together(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for _ in 0..<count {
        if index < 2 {
          if Bool.random(using: &random) {
            waitImpatiently {
              buffer.withLock(when: { $0.items < 2 }, until: $0) { $0.items += 1 } != nil
            }
          } else {
            buffer.withLock(when: { $0.items < 2 }) { $0.items += 1 }
          }
        } else {
          func take(_ value: inout (items: Int, taken: Int)) {
            value.items -= 1
            value.taken += 1
          }
          if Bool.random(using: &random) {
            waitImpatiently {
              buffer.withLock(when: { $0.items > 0 }, until: $0, { take(&$0) }) != nil
            }
          } else {
            buffer.withLock(when: { $0.items > 0 }) { take(&$0) }
          }
        }
      }
    }
    #expect(buffer.withLock { $0.items } == 0)
    #expect(buffer.withLock { $0.taken } == 2 * count)
  }
}
