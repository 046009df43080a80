import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("CountingSemaphore", .endsInTime)
struct CountingSemaphoreTests {
  // MARK: Sequential rules

  @Test("permits are taken and given back")
  func sequential() {
    let semaphore = CountingSemaphore(3)
    #expect(semaphore.availablePermits == 3)
    semaphore.acquire()
    semaphore.acquire(2)
    #expect(semaphore.availablePermits == 0)
    #expect(!semaphore.tryAcquire())
    semaphore.release(2)
    #expect(!semaphore.tryAcquire(3), "all or none")
    #expect(semaphore.availablePermits == 2)
    #expect(semaphore.tryAcquire(2))
    semaphore.release(4)
    #expect(semaphore.drain() == 4, "more may be given out than there were")
    #expect(semaphore.drain() == 0)
  }

  @Test("withPermits gives them back when the body returns and when it throws")
  func scoped() {
    struct Refusal: Error {}
    let semaphore = CountingSemaphore(2)
    #expect(semaphore.withPermits { semaphore.availablePermits } == 1)
    #expect(semaphore.withPermits(2) { semaphore.availablePermits } == 0)
    #expect(throws: Refusal.self) { try semaphore.withPermits(2) { throw Refusal() } }
    #expect(semaphore.availablePermits == 2)
  }

  @Test("holds as many permits as it says")
  func limit() {
    let semaphore = CountingSemaphore(CountingSemaphore.maximumPermits)
    #expect(semaphore.tryAcquire(CountingSemaphore.maximumPermits))
    semaphore.release(CountingSemaphore.maximumPermits)
    #expect(semaphore.availablePermits == CountingSemaphore.maximumPermits)
  }

  // MARK: Waiting

  @Test("a permit wakes a thread that waits", .endsInTime)
  func wakes() throws {
    let semaphore = CountingSemaphore(0)
    let waiter = try waiting { semaphore.acquire() }
    semaphore.release()
    waiter()
    #expect(semaphore.availablePermits == 0)
  }

  @Test("threads are served in the order in which they came", .endsInTime)
  func inOrder() throws {
    let semaphore = CountingSemaphore(0)
    let served = Locked<[Int]>([])
    let waiters = try [2, 1, 3, 1].enumerated().map { index, wants in
      try waiting {
        semaphore.acquire(wants)
        served.withLock { $0.append(index) }
      }
    }
    for (permits, count) in [(2, 1), (1, 2), (2, 2), (1, 3), (1, 4)] {
      semaphore.release(permits)
      #expect(eventually { served.withLock { $0.count } == count })
    }
    #expect(served.withLock { $0 } == [0, 1, 2, 3])
    for waiter in waiters { waiter() }
  }

  @Test("a newcomer does not overtake a batch that waits", .endsInTime)
  func noOvertaking() throws {
    let semaphore = CountingSemaphore(2)
    let batch = try waiting { semaphore.acquire(3) }
    #expect(semaphore.availablePermits == 2)
    #expect(!semaphore.tryAcquire())
    #expect(!semaphore.acquire(for: .milliseconds(1)))
    #expect(semaphore.drain() == 0)
    semaphore.release()
    batch()
    #expect(semaphore.availablePermits == 0)
  }

  @Test("a batch that gives up lets those behind it pass", .endsInTime)
  func batchGivesUp() throws {
    let semaphore = CountingSemaphore(2)
    let goesOn = Atomic(false)
    // Gives up only once the others wait behind it.
    let batch = try waiting {
      while !goesOn.load(ordering: .acquiring) {
        #expect(!semaphore.acquire(3, for: .milliseconds(1)))
      }
      #expect(!semaphore.acquire(3, for: .milliseconds(100)))
    }
    goesOn.store(true, ordering: .releasing)
    try concurrently(2) { _ in semaphore.acquire() }
    batch()
    #expect(semaphore.availablePermits == 0)
  }

  @Test("a wait ends at its deadline, never before, and takes nothing")
  func timedOut() {
    let semaphore = CountingSemaphore(1)
    for microseconds in [-5, 0, 100, 1_000, 4_000] {
      for _ in 0..<20 {
        let start = MonotonicInstant.now
        #expect(!semaphore.acquire(2, for: .microseconds(microseconds)))
        #expect(start.duration(to: .now) >= .microseconds(microseconds))
      }
    }
    #expect(semaphore.availablePermits == 1)
    #expect(semaphore.acquire(until: MonotonicInstant(nanoseconds: 0)))
  }

  @Test("a wait without an end gets its permit", .endsInTime)
  func distantDeadline() throws {
    let semaphore = CountingSemaphore(0)
    let first = try waiting { #expect(semaphore.acquire(until: .distantFuture)) }
    let second = try waiting { #expect(semaphore.acquire(for: .seconds(1_000_000_000_000))) }
    semaphore.release(2)
    first()
    second()
  }

  // MARK: Misuse

  @Test("a number of permits out of range stops the program with a message")
  func outOfRange() async {
    let made = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CountingSemaphore(-1, label: "slots")
    }
    #expect(message(of: made).contains("CountingSemaphore \"slots\": made with -1 permits; 0 to"))
    let taken = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CountingSemaphore(1, label: "slots").tryAcquire(0)
    }
    #expect(
      message(of: taken).contains("\"slots\".acquire: 0 permits; 1 to 2147483647 are allowed"))
    let given = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      CountingSemaphore(1).release(-2)
    }
    #expect(message(of: given).contains("CountingSemaphore.release: -2 permits; 1 to"))
  }

  @Test("more permits than fit stop the program with a message")
  func overflow() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      CountingSemaphore(2).release(CountingSemaphore.maximumPermits)
    }
    #expect(message(of: result).contains("CountingSemaphore.release: more than 2147483647 permits"))
  }

  // MARK: Stress

  @Test(
    "never lets in more than it has, and loses nobody", .endsInTime,
    arguments: [UInt64(1), 2])
  func stress(seed: UInt64) throws {
    let semaphore = CountingSemaphore(4)
    let inside = Atomic(0)
    try concurrently(6) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      for _ in 0..<10_000 {
        let count = Int.random(in: 1...4, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
          guard semaphore.tryAcquire(count) else { continue }
        case 1:
          let microseconds = Int.random(in: 0..<50, using: &random)
          guard semaphore.acquire(count, for: .microseconds(microseconds)) else { continue }
        default:
          semaphore.acquire(count)
        }
        let now = inside.add(count, ordering: .relaxed).newValue
        if now > 4 { Issue.record("\(now) permits out at once") }
        if Int.random(in: 0..<32, using: &random) == 0 { SystemThread.yield() }
        inside.subtract(count, ordering: .relaxed)
        semaphore.release(count)
      }
    }
    #expect(semaphore.availablePermits == 4)
  }

  @Test("a permit that was there before is handed on with what was written before it was given")
  func handsOnWhatWasWritten() throws {
    // The threads meet by relaxed atomics alone, and the one whose permit comes through another's
    // hands does not touch the queue: what orders its writing is the word of the semaphore.
    for _ in 0..<50 {
      let semaphore = CountingSemaphore(0)
      let early = Unguarded(0)
      let late = Unguarded(0)
      let isGiven = Atomic(false)
      let waiter = Atomic<UInt32>(0)
      try concurrently(3) { index in
        switch index {
        case 0:
          early.value = 1
          semaphore.release()
          isGiven.store(true, ordering: .relaxed)
        case 1:
          while !isGiven.load(ordering: .relaxed) { SystemThread.yield() }
          waiter.store(SystemThread.currentID, ordering: .relaxed)
          semaphore.acquire(2)
          if early.value + late.value != 2 { Issue.record("\(early.value) and \(late.value)") }
        default:
          while waiter.load(ordering: .relaxed) == 0 { SystemThread.yield() }
          while !threadIsAsleep(waiter.load(ordering: .relaxed)) { SystemThread.yield() }
          late.value = 1
          semaphore.release()
        }
      }
    }
  }

  @Test("one permit excludes, and orders what is written", .endsInTime)
  func asMutex() throws {
    let semaphore = CountingSemaphore(1)
    let count = Unguarded(0)
    try concurrently(4) { _ in
      for _ in 0..<5_000 { semaphore.withPermits { count.value += 1 } }
    }
    #expect(count.value == 20_000)
  }
}
