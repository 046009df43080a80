import Synchronization
import TestSupport
import Testing
import Threading
import ThreadingPlatform
import ThreadingThreads

/// What a wait throws that throws nothing but ``ThreadCancelled`` here.
private func cancelledOnly(_ wait: () throws -> Bool) throws(ThreadCancelled) -> Bool {
  do {
    return try wait()
  } catch let error as ThreadCancelled {
    throw error
  } catch {
    Issue.record("\(error)")
    return false
  }
}

/// A wait of the family `...UnlessCancelled`, with something to wait for.
private struct Kind: CustomTestStringConvertible, Sendable {
  let testDescription: String
  /// Makes something to wait for: how to wait, how to bring about what is waited for, and what to do
  /// after the wait has brought it.
  let make: @Sendable () -> Subject

  struct Subject: Sendable {
    let wait: @Sendable (MonotonicInstant) throws(ThreadCancelled) -> Bool
    /// Called by the thread that has made the subject.
    let grant: @Sendable () -> Void
    let leave: @Sendable () -> Void
  }

  private init(
    _ name: String, _ make: @escaping @Sendable () -> Subject
  ) {
    testDescription = name
    self.make = make
  }

  private final class Pair: Sendable {
    let mutex = FastMutex()
    let condition = ConditionVariable()
    let isTrue = Atomic<Bool>(false)
  }

  private final class Holder<Lock: ~Copyable & Sendable>: Sendable {
    let lock: Lock
    init(_ lock: consuming Lock) { self.lock = lock }
  }

  static let all: [Kind] = [
    Kind("FastMutex") {
      let holder = Holder(FastMutex())
      holder.lock.lock()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try holder.lock.lockUnlessCancelled(until: limit)
        }, grant: { holder.lock.unlock() }, leave: { holder.lock.unlock() })
    },
    Kind("RecursiveLock") {
      let holder = Holder(RecursiveLock())
      holder.lock.lock()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try holder.lock.lockUnlessCancelled(until: limit)
        }, grant: { holder.lock.unlock() }, leave: { holder.lock.unlock() })
    },
    Kind("FairMutex") {
      let lock = FairMutex()
      lock.lock()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in try lock.lockUnlessCancelled(until: limit) },
        grant: { lock.unlock() }, leave: { lock.unlock() })
    },
    Kind("ReadWriteLock, reading") {
      let holder = Holder(ReadWriteLock())
      holder.lock.writeLock()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try holder.lock.readLockUnlessCancelled(until: limit)
        }, grant: { holder.lock.writeUnlock() }, leave: { holder.lock.readUnlock() })
    },
    Kind("ReadWriteLock, writing") {
      let holder = Holder(ReadWriteLock())
      holder.lock.writeLock()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try holder.lock.writeLockUnlessCancelled(until: limit)
        }, grant: { holder.lock.writeUnlock() }, leave: { holder.lock.writeUnlock() })
    },
    Kind("ReadWriteLock, upgradable") {
      let holder = Holder(ReadWriteLock())
      holder.lock.writeLock()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try holder.lock.upgradableLockUnlessCancelled(until: limit)
        }, grant: { holder.lock.writeUnlock() }, leave: { holder.lock.upgradableUnlock() })
    },
    Kind("ReadWriteLock, upgrading") {
      let holder = Holder(ReadWriteLock())
      holder.lock.readLock()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          holder.lock.upgradableLock()
          do throws(ThreadCancelled) {
            if try holder.lock.upgradeUnlessCancelled(until: limit) { return true }
          } catch {
            holder.lock.upgradableUnlock()
            throw error
          }
          holder.lock.upgradableUnlock()
          return false
        }, grant: { holder.lock.readUnlock() }, leave: { holder.lock.writeUnlock() })
    },
    Kind("BoundedQueue, taking") {
      let queue = BoundedQueue<Int>(capacity: 1)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try cancelledOnly { try queue.takeUnlessCancelled(until: limit) != nil }
        }, grant: { try? queue.put(1) }, leave: {})
    },
    Kind("BoundedQueue, putting") {
      let queue = BoundedQueue<Int>(capacity: 1)
      try? queue.put(1)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try cancelledOnly { try queue.putUnlessCancelled(2, until: limit) }
        }, grant: { _ = try? queue.take() }, leave: {})
    },
    Kind("ConditionVariable") {
      let pair = Pair()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          pair.mutex.lock()
          defer { pair.mutex.unlock() }
          return try pair.condition.waitUnlessCancelled(pair.mutex, until: limit) {
            pair.isTrue.load(ordering: .relaxed)
          }
        },
        grant: {
          pair.mutex.withLock { pair.isTrue.store(true, ordering: .relaxed) }
          pair.condition.signal()
        }, leave: {})
    },
    Kind("ConditionLock") {
      let lock = ConditionLock(0)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try lock.lockUnlessCancelled(when: 1, until: limit)
        },
        grant: { lock.withLock(settingTo: 1) {} }, leave: { lock.unlock() })
    },
    Kind("Locked") {
      let holder = Holder(Locked(0))
      let held = Shared.Flag()
      let gate = Shared.Gate()
      let thread = try? PosixThread.start {
        holder.lock.withLock { _ in
          held.set()
          gate.wait()
        }
      }
      held.wait()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          do {
            return try holder.lock.withLockUnlessCancelled(until: limit) { $0 += 1 } != nil
          } catch {
            throw (error as? ThreadCancelled) ?? ThreadCancelled(reason: "\(error)")
          }
        },
        grant: {
          gate.open()
          holder.lock.withLock { _ in }
        }, leave: { _ = try? thread?.join() })
    },
    Kind("Locked, when") {
      let holder = Holder(Locked(0))
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          do {
            return try holder.lock.withLockUnlessCancelled(when: { $0 == 1 }, until: limit) { _ in }
              != nil
          } catch {
            throw (error as? ThreadCancelled) ?? ThreadCancelled(reason: "\(error)")
          }
        },
        grant: { holder.lock.withLock { $0 = 1 } }, leave: {})
    },
    Kind("CountingSemaphore") {
      let semaphore = CountingSemaphore(0)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try semaphore.acquireUnlessCancelled(2, until: limit)
        },
        grant: { semaphore.release(2) }, leave: {})
    },
    Kind("CountdownLatch") {
      let latch = CountdownLatch(1)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in try latch.waitUnlessCancelled(until: limit) },
        grant: { latch.countDown() }, leave: {})
    },
    Kind("ResetEvent, manual") {
      let event = ResetEvent(.manual)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in try event.waitUnlessCancelled(until: limit) },
        grant: { event.set() }, leave: {})
    },
    Kind("ResetEvent, automatic") {
      let event = ResetEvent(.automatic)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in try event.waitUnlessCancelled(until: limit) },
        grant: { event.set() }, leave: {})
    },
    Kind("Parker") {
      let parker = Parker()
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in try parker.parkUnlessCancelled(until: limit) },
        grant: { parker.unpark() }, leave: {})
    },
    Kind("Phaser") {
      let phaser = Phaser(1)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try phaser.waitUnlessCancelled(forEndOf: 0, until: limit)
        },
        grant: { phaser.arrive() }, leave: {})
    },
    Kind("AtomicBox") {
      let box = AtomicBox(0)
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          try ThreadHandle.waitUnlessCancelled(until: limit) {
            box.wait(while: 0, until: $0) != nil
          }
        },
        grant: {
          box.atomic.store(1, ordering: .releasing)
          box.notifyAll()
        }, leave: {})
    },
    Kind("join") {
      let gate = Shared.Gate()
      let thread = try? PosixThread.start { gate.wait() }
      return Subject(
        wait: { (limit) throws(ThreadCancelled) in
          do {
            return try thread?.joinUnlessCancelled(until: limit) != nil
          } catch {
            throw (error as? ThreadCancelled) ?? ThreadCancelled(reason: "\(error)")
          }
        },
        grant: {
          gate.open()
          _ = try? thread?.join()
        }, leave: {})
    },
  ]
}

@Suite("Waits that end on cancellation", .endsInTime)
struct CancellableWaitTests {
  @Test("a sleeping thread that is cancelled leaves its wait with the reason", arguments: Kind.all)
  private func ends(kind: Kind) throws {
    let subject = kind.make()
    let thread = try PosixThread.start { () throws(ThreadCancelled) -> Bool in
      try subject.wait(.distantFuture)
    }
    #expect(eventually { SystemThreadReport.isAsleep(thread.handle) })
    thread.cancel(reason: "enough")
    #expect(throws: ThreadCancelled(reason: "enough")) { try thread.join() }
    // What it left is as if its time had been up: another can have it.
    subject.grant()
    let other = try PosixThread.start { () throws(ThreadCancelled) -> Bool in
      let isOver = try subject.wait(.now.advanced(by: .seconds(30)))
      if isOver { subject.leave() }
      return isOver
    }
    #expect(try other.join())
  }

  @Test(
    "a cancelled thread gets what is there, and does not sleep for what is not", arguments: Kind.all
  )
  private func cancelledBefore(kind: Kind) throws {
    let subject = kind.make()
    let gate = Shared.Gate()
    let empty = PosixThread { () -> Bool in
      (try? subject.wait(.distantFuture)) == nil
    }
    empty.cancel()
    try empty.start()
    #expect(try empty.join())
    let full = PosixThread { () throws(ThreadCancelled) -> Bool in
      gate.wait()
      let isOver = try subject.wait(.distantFuture)
      if isOver { subject.leave() }
      return isOver
    }
    full.cancel()
    try full.start()
    subject.grant()
    gate.open()
    #expect(try full.join())
  }

  @Test(
    "without a cancellation the wait ends at its limit, or by what it waits for",
    arguments: Kind.all)
  private func undisturbed(kind: Kind) throws {
    let subject = kind.make()
    let before = MonotonicInstant.now
    let limited = try PosixThread.start { () throws(ThreadCancelled) -> Bool in
      try subject.wait(before.advanced(by: .milliseconds(5)))
    }
    #expect(try limited.join() == false)
    #expect(before.duration(to: .now) >= .milliseconds(5))
    let thread = try PosixThread.start { () throws(ThreadCancelled) -> Bool in
      let isOver = try subject.wait(.distantFuture)
      if isOver { subject.leave() }
      return isOver
    }
    #expect(eventually { SystemThreadReport.isAsleep(thread.handle) })
    subject.grant()
    #expect(try thread.join())
  }

  @Test("a cancellation that meets the beginning of the wait always ends it", arguments: Kind.all)
  private func race(kind: Kind) throws {
    for round in 0..<30 {
      let subject = kind.make()
      let isThere = Shared.Flag()
      let thread = try PosixThread.start { () -> Bool in
        isThere.set()
        return (try? subject.wait(.distantFuture)) == nil
      }
      isThere.wait()
      for _ in 0..<(round * 7 % 40) { Processors.relax() }
      thread.cancel()
      #expect(try thread.join())
      subject.grant()
      if kind.testDescription == "Locked" { subject.leave() }
    }
  }

  @Test("a cancelled thread at a barrier breaks it for the others, and a broken one is no error")
  func barrier() throws {
    let barrier = CyclicBarrier(3)
    let waiting = try (0..<2).map { index in
      try PosixThread.start { () throws(ThreadCancelled) -> CyclicBarrier.Passage in
        try barrier.waitUnlessCancelled()
      }
    }
    #expect(eventually { waiting.allSatisfy { SystemThreadReport.isAsleep($0.handle) } })
    waiting[0].cancel(reason: "late")
    #expect(throws: ThreadCancelled(reason: "late")) { try waiting[0].join() }
    #expect(try waiting[1].join() == .broken)
    #expect(barrier.isBroken)
  }

  @Test("a cancelled thread takes its offer back from an exchanger")
  func exchanger() throws {
    let exchanger = Exchanger<Int>()
    let thread = try PosixThread.start { () throws(ThreadCancelled) -> Int? in
      try exchanger.exchangeUnlessCancelled(1)
    }
    #expect(eventually { SystemThreadReport.isAsleep(thread.handle) })
    thread.cancel()
    #expect(throws: ThreadCancelled()) { try thread.join() }
    try concurrently(1) { _ in #expect(exchanger.exchange(2, for: .zero) == nil) }
  }

  @Test("waits of other kinds in a cancelled thread last as long as they are asked to")
  func others() throws {
    let outcome = PosixThread { () -> [Bool] in
      let semaphore = CountingSemaphore(0)
      let before = MonotonicInstant.now
      let limit = before.advanced(by: .milliseconds(5))
      var outcomes = [semaphore.acquire(until: limit), MonotonicInstant.now >= limit]
      // Also inside the body of a wait that can be ended, with the very same limit.
      let later = MonotonicInstant.now.advanced(by: .milliseconds(5))
      let value = Locked(0)
      let inner = try? value.withLockUnlessCancelled(until: later) { _ in
        semaphore.acquire(until: later) || MonotonicInstant.now < later
      }
      outcomes.append(inner == true)
      // And while a condition is asked: its own waits have other limits.
      let mutex = FastMutex()
      let condition = ConditionVariable()
      mutex.lock()
      defer { mutex.unlock() }
      let moment = MonotonicInstant.now.advanced(by: .milliseconds(5))
      _ = try? condition.waitUnlessCancelled(mutex) {
        semaphore.acquire(until: moment) || MonotonicInstant.now < moment
      }
      outcomes.append(MonotonicInstant.now >= moment)
      return outcomes
    }
    outcome.cancel()
    try outcome.start()
    #expect(try outcome.join() == [false, true, false, true])
  }

  @Test("a wait is ended for the thread that makes it, not for the one that is waited for")
  func whoseCancellation() throws {
    let gate = Shared.Gate()
    let worker = try PosixThread.start { gate.wait() }
    let joiner = try PosixThread.start { () -> Bool in
      (try? worker.joinUnlessCancelled()) == nil
    }
    #expect(eventually { SystemThreadReport.isAsleep(joiner.handle) })
    worker.cancel()
    #expect(SystemThreadReport.isAsleep(joiner.handle))
    joiner.cancel()
    #expect(try joiner.join())
    gate.open()
    try worker.join()
  }
}

@Suite(
  "Cancellation, time limits and hand-overs that meet", .endsInTime)
struct CancellableWaitStressTests {
  /// Threads that take and give back one thing, again and again, with short limits; each is cancelled
  /// at a moment of its own, and a thread in its place goes on. Nobody may be left asleep, and the
  /// thing is with one thread at a time.
  private func hammer(
    seed: UInt64, rounds: Int,
    take: @escaping @Sendable (MonotonicInstant) throws(ThreadCancelled) -> Bool,
    giveBack: @escaping @Sendable () -> Void
  ) throws {
    let inside = Atomic<Int>(0)
    let taken = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    try concurrently(3) { lane in
      var random = SeededGenerator(seed: seed &+ UInt64(lane))
      for _ in 0..<rounds {
        let spins = Int.random(in: 0..<200, using: &random)
        let limit: Duration? =
          Bool.random(using: &random)
          ? nil : .nanoseconds(Int64.random(in: 0..<60_000, using: &random))
        let thread = try? PosixThread.start { () -> Bool in
          do throws(ThreadCancelled) {
            while true {
              let deadline = limit.map { MonotonicInstant.now.advanced(by: $0) } ?? .distantFuture
              guard try take(deadline) else { continue }
              if inside.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue != 1 {
                return false
              }
              for _ in 0..<20 { Processors.relax() }
              inside.wrappingSubtract(1, ordering: .acquiringAndReleasing)
              taken.wrappingAdd(1, ordering: .relaxed)
              giveBack()
              if ThreadHandle.current.isCancelled { return true }
            }
          } catch {
            ended.wrappingAdd(1, ordering: .relaxed)
            return true
          }
        }
        for _ in 0..<spins { Processors.relax() }
        thread?.cancel()
        #expect((try? thread?.join()) == true)
      }
    }
    #expect(inside.load(ordering: .relaxed) == 0)
    #expect(try take(.now.advanced(by: .seconds(20))))
    giveBack()
  }

  private final class Holder: Sendable {
    let mutex = FastMutex()
    let condition = ConditionVariable()
    let isFree = Atomic<Bool>(true)
  }

  private static var rounds: Int { LongTests.areOn ? 20_000 : 80 }

  @Test("for a mutex", arguments: [1, 2])
  func mutex(seed: UInt64) throws {
    let holder = Holder()
    try hammer(seed: seed, rounds: Self.rounds) { (limit) throws(ThreadCancelled) in
      try holder.mutex.lockUnlessCancelled(until: limit)
    } giveBack: {
      holder.mutex.unlock()
    }
  }

  @Test("for a condition", arguments: [3, 4])
  func condition(seed: UInt64) throws {
    let holder = Holder()
    try hammer(seed: seed, rounds: Self.rounds) { (limit) throws(ThreadCancelled) in
      holder.mutex.lock()
      defer { holder.mutex.unlock() }
      let isOver = try holder.condition.waitUnlessCancelled(holder.mutex, until: limit) {
        holder.isFree.load(ordering: .relaxed)
      }
      if isOver { holder.isFree.store(false, ordering: .relaxed) }
      return isOver
    } giveBack: {
      holder.mutex.withLock { holder.isFree.store(true, ordering: .relaxed) }
      holder.condition.signal()
    }
  }

  @Test("for a semaphore", arguments: [5, 6])
  func semaphore(seed: UInt64) throws {
    let semaphore = CountingSemaphore(1)
    try hammer(seed: seed, rounds: Self.rounds) { (limit) throws(ThreadCancelled) in
      try semaphore.acquireUnlessCancelled(until: limit)
    } giveBack: {
      semaphore.release()
    }
  }

  @Test("for an automatic event", arguments: [7])
  func event(seed: UInt64) throws {
    let event = ResetEvent(.automatic, isSet: true)
    try hammer(seed: seed, rounds: Self.rounds) { (limit) throws(ThreadCancelled) in
      try event.waitUnlessCancelled(until: limit)
    } giveBack: {
      event.set()
    }
  }

  @Test("for a lock with a state", arguments: [8])
  func conditionLock(seed: UInt64) throws {
    let lock = ConditionLock(0)
    try hammer(seed: seed, rounds: Self.rounds) { (limit) throws(ThreadCancelled) in
      try lock.lockUnlessCancelled(when: 0, until: limit)
    } giveBack: {
      lock.unlock(settingTo: 0)
    }
  }

  @Test("for a lock of readers and writers", arguments: [9])
  func readWriteLock(seed: UInt64) throws {
    final class Place: Sendable { let lock = ReadWriteLock() }
    let place = Place()
    try hammer(seed: seed, rounds: Self.rounds) { (limit) throws(ThreadCancelled) in
      try place.lock.writeLockUnlessCancelled(until: limit)
    } giveBack: {
      place.lock.writeUnlock()
    }
  }

  @Test("an interrupter never waits for a thread that runs on", arguments: [10])
  func flood(seed: UInt64) throws {
    // Many threads asleep at one word, all cancelled from two sides.
    let latch = CountdownLatch(1)
    let threads = try (0..<40).map { _ in
      try PosixThread.start(ThreadAttributes(stackSize: 1 << 18)) { () -> Bool in
        (try? latch.waitUnlessCancelled()) == nil
      }
    }
    try concurrently(2) { index in
      for thread in index == 0 ? threads : threads.reversed() { thread.cancel() }
    }
    for thread in threads { #expect(try thread.join()) }
  }
}

@Suite("Cancellable waits inside each other", .endsInTime)
struct NestedCancellableWaitTests {
  @Test("an outer wait still ends by cancellation after an inner one that has had its answer")
  func nested() throws {
    let inner = CountingSemaphore(1)
    let never = CountingSemaphore(0)
    let isInside = Shared.Flag()
    let thread = try PosixThread.start { () -> String in
      do throws(ThreadCancelled) {
        _ = try ThreadHandle.waitUnlessCancelled(for: .seconds(600)) { limit in
          // Has its answer at once, and is over.
          guard (try? inner.acquireUnlessCancelled(for: .seconds(600))) == true else { return true }
          isInside.set()
          return never.acquire(until: limit)
        }
        return "not cancelled"
      } catch {
        return error.reason ?? "no reason"
      }
    }
    isInside.wait()
    thread.handle.cancel(reason: "enough")
    #expect(try thread.join() == "enough")
  }

  @Test("in a cancelled thread, a plain wait in a predicate lasts as long as it says")
  func plainInside() throws {
    let thread = try PosixThread.start { () -> Bool in
      ThreadHandle.current.cancel()
      let mutex = FastMutex()
      let condition = ConditionVariable()
      let never = CountingSemaphore(0)
      let moment = MonotonicInstant.now.advanced(by: .milliseconds(30))
      var hasLasted = false
      mutex.lock()
      defer { mutex.unlock() }
      _ = try? condition.waitUnlessCancelled(mutex, until: moment) {
        _ = never.acquire(until: moment)
        hasLasted = MonotonicInstant.now >= moment
        return true
      }
      return hasLasted
    }
    #expect(try thread.join() == true)
  }
}
