import Synchronization
import TestSupport
import Testing
import ThreadingPlatform

@testable import ThreadingLocks

private final class Shared: Sendable {
  let mutex = FastMutex()
  let count = Unguarded(0)
}

@Suite("FastMutex", .endsInTime)
struct FastMutexTests {
  // MARK: Sequential rules

  @Test("a wait that was interrupted ends at once, and leaves no word of having waited long")
  func interrupted() throws {
    let shared = Shared()
    let mayGoOn = CountdownLatch(1)
    let isHeld = CountdownLatch(1)
    let join = try inBackground {
      shared.mutex.lock()
      isHeld.countDown()
      mayGoOn.wait()
      shared.mutex.unlock()
    }
    isHeld.wait()
    let interruption = WaitInterruption()
    interruption.finish(interruption.ask())
    let turn = interruption.begin(until: .now.advanced(by: .seconds(600)))
    #expect(shared.mutex.lock(until: turn.limit) == false)
    WaitInterruption.end(turn)
    #expect(shared.mutex.word.load(ordering: .relaxed) & FastMutex.overdue == 0)
    mayGoOn.countDown()
    join()
  }

  @Test("is one 32-bit word")
  func size() {
    #expect(MemoryLayout<FastMutex>.size == 4)
    #expect(MemoryLayout<FastMutex>.alignment == 4)
  }

  @Test("is held from lock to unlock")
  func lockAndUnlock() throws {
    let shared = Shared()
    #expect(shared.mutex.isHeldByCurrentThread == false)
    shared.mutex.lock()
    #expect(shared.mutex.isHeldByCurrentThread == true)
    try concurrently(1) { _ in
      #expect(shared.mutex.isHeldByCurrentThread == false)
      #expect(shared.mutex.tryLock() == false)
    }
    #expect(shared.mutex.tryLock() == false, "trying does not recurse")
    shared.mutex.unlock()
    #expect(shared.mutex.isHeldByCurrentThread == false)
    try concurrently(1) { _ in
      #expect(shared.mutex.tryLock() == true)
      shared.mutex.unlock()
    }
  }

  @Test("withLock gives the lock back when the body returns and when it throws")
  func scoped() {
    struct Refusal: Error {}
    let mutex = FastMutex()
    #expect(mutex.withLock { mutex.isHeldByCurrentThread })
    #expect(mutex.isHeldByCurrentThread == false)
    #expect(throws: Refusal.self) { try mutex.withLock { throw Refusal() } }
    #expect(mutex.isHeldByCurrentThread == false)
    #expect(mutex.withLockIfAvailable { 5 } == 5)
    mutex.withLock { #expect(mutex.withLockIfAvailable { 5 } == nil) }
  }

  // MARK: Time

  @Test("a wait for a held lock ends at its deadline, never before")
  func timedOut() throws {
    let shared = Shared()
    shared.mutex.lock()
    defer { shared.mutex.unlock() }
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      try concurrently(1) { _ in
        for _ in 0..<20 {
          let start = MonotonicInstant.now
          #expect(shared.mutex.lock(for: .microseconds(microseconds)) == false)
          #expect(start.duration(to: .now) >= .microseconds(microseconds))
        }
      }
    }
  }

  @Test(
    "a wait without an end gets the lock when it is given back",
    arguments: [
      MonotonicInstant.distantFuture,
      MonotonicInstant.now.advanced(by: .seconds(1_000_000_000_000)),
    ])
  func distantDeadline(deadline: MonotonicInstant) throws {
    let shared = Shared()
    let waiter = Atomic<UInt32>(0)
    shared.mutex.lock()
    let join = try inBackground {
      waiter.store(SystemThread.currentID, ordering: .releasing)
      #expect(shared.mutex.lock(until: deadline) == true)
      #expect(shared.mutex.isHeldByCurrentThread == true)
      shared.mutex.unlock()
    }
    #expect(eventually { threadIsAsleep(waiter.load(ordering: .acquiring)) })
    shared.mutex.unlock()
    join()
  }

  @Test("a free lock is had even when the moment has passed")
  func pastDeadline() {
    let mutex = FastMutex()
    #expect(mutex.lock(until: MonotonicInstant(nanoseconds: 0)) == true)
    #expect(mutex.tryLock() == false)
    mutex.unlock()
  }

  @Test("a timed wait for a lock that changes hands all the time answers truly")
  func timedUnderLoad() throws {
    let shared = Shared()
    let stop = Atomic(false)
    let owner = try inBackground {
      while !stop.load(ordering: .relaxed) {
        shared.mutex.withLock { SystemThread.sleep(until: .now.advanced(by: .microseconds(300))) }
        SystemThread.yield()
      }
    }
    for _ in 0..<200 {
      let start = MonotonicInstant.now
      if shared.mutex.lock(until: start.advanced(by: .milliseconds(2))) {
        #expect(shared.mutex.isHeldByCurrentThread == true)
        shared.mutex.unlock()
      } else {
        #expect(shared.mutex.isHeldByCurrentThread == false)
        #expect(start.duration(to: .now) >= .milliseconds(2))
      }
    }
    stop.store(true, ordering: .relaxed)
    owner()
  }

  // MARK: Order

  @Test(
    "a thread that is overtaken all the time gets the lock", .endsInTime,
    arguments: [1, 3])
  func notOvertakenForEver(waiters: Int) throws {
    let shared = Shared()
    let served = Atomic(0)
    shared.mutex.lock()
    let joins = try (0..<waiters).map { _ in
      try waiting {
        shared.mutex.withLock { _ = served.wrappingAdd(1, ordering: .relaxed) }
      }
    }
    // The lock is free for some nanoseconds in two milliseconds: nobody who has to be woken can be
    // there in time.
    var turns = 0
    while served.load(ordering: .relaxed) < waiters && turns < 1_000 {
      turns += 1
      let end = MonotonicInstant.now.advanced(by: .milliseconds(2))
      while MonotonicInstant.now < end {}
      shared.mutex.unlock()
      shared.mutex.lock()
    }
    shared.mutex.unlock()
    for join in joins { join() }
    #expect(turns < 1_000)
  }

  @Test("a lock that nobody holds is had at once, though those that it was kept for have given up")
  func keptForNobody() throws {
    let shared = Shared()
    for _ in 0..<10 {
      shared.mutex.lock()
      // Long enough to find that it has waited for too long.
      try concurrently(1) { _ in
        #expect(shared.mutex.lock(for: .milliseconds(6)) == false)
      }
      shared.mutex.unlock()
      #expect(shared.mutex.lock(until: passed) == true)
      shared.mutex.unlock()
    }
  }

  // MARK: Stress

  @Test(
    "excludes and loses no wake under load", .endsInTime, arguments: [2, 4, 8],
    [UInt64(1)])
  func stress(threads: Int, seed: UInt64) throws {
    let shared = Shared()
    let taken = Atomic(0)
    let rounds = 100_000 / threads
    try concurrently(threads) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      var mine = 0
      for _ in 0..<rounds {
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
          guard shared.mutex.tryLock() else { continue }
        case 1:
          let microseconds = Int.random(in: 0..<20, using: &random)
          guard shared.mutex.lock(for: .microseconds(microseconds)) else { continue }
        default:
          shared.mutex.lock()
        }
        let before = shared.count.value
        if Int.random(in: 0..<64, using: &random) == 0 { SystemThread.yield() }
        shared.count.value = before + 1
        mine += 1
        shared.mutex.unlock()
      }
      taken.wrappingAdd(mine, ordering: .relaxed)
    }
    #expect(shared.count.value == taken.load(ordering: .relaxed))
  }

  @Test("signals that interrupt the wait do no harm", .endsInTime)
  func signalled() throws {
    let shared = Shared()
    let senders = Unguarded([@Sendable () -> Void]())
    let isEnough = Atomic(false)
    let rounds = Atomic(0)
    let before = HarmlessSignal.count
    let joins = try (0..<3).map { _ in
      try inBackground {
        let send = HarmlessSignal.accept()
        shared.mutex.withLock { senders.value.append(send) }
        var mine = 0
        // Stays until no more are sent, so that every sender has a living thread to send to.
        while mine < 10_000 || !isEnough.load(ordering: .acquiring) {
          shared.mutex.withLock {
            shared.count.value += 1
            if shared.count.value.isMultiple(of: 100) { SystemThread.yield() }
          }
          mine += 1
        }
        rounds.wrappingAdd(mine, ordering: .relaxed)
      }
    }
    var sent = 0
    while sent < 1_000 {
      shared.mutex.withLock {
        for send in senders.value { send() }
        sent += senders.value.count
      }
      SystemThread.yield()
    }
    isEnough.store(true, ordering: .releasing)
    for join in joins { join() }
    #expect(shared.count.value == rounds.load(ordering: .relaxed))
    #expect(HarmlessSignal.count > before)
  }
}
