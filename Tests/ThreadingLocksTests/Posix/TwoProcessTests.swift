import Glibc
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

// The parent's half runs on a thread beside the exit test, whose body is the child's half. Where the
// object allows it no half waits without a limit, so that a fault fails the test and does not hang
// it.

private let limit = Duration.seconds(30)

/// Starts the parent's half.
///
/// - Returns: A function that waits for its end.
private func besides(_ half: @escaping @Sendable () throws -> Void) throws -> () -> Void {
  try inBackground {
    do { try half() } catch { Issue.record(error) }
  }
}

@Suite("POSIX objects between two processes", .endsInTime)
struct TwoProcessTests {
  private static let rounds = 20_000

  // MARK: PosixMutex

  @Test(
    "a mutex excludes, whatever it is", .endsInTime,
    arguments: 0..<5)
  func mutex(kind: Int) async throws {
    let attributes: [PosixMutex.Attributes] = [
      .init(kind: .normal), .init(kind: .errorChecking), .init(kind: .recursive),
      .init(kind: .adaptive, isRobust: true), .init(priorityProtocol: .inherit, isRobust: true),
    ]
    let region = try SharedRegion(making: "mutex-\(kind)")
    let mutex = try unsafe PosixMutex(sharedAt: region.place(), attributes[kind])
    let join = try besides {
      try region.meet()
      try add(Self.rounds, mutex, region)
      try region.meet()
    }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      let region = try SharedRegion(finding: name)
      let mutex = unsafe PosixMutex(attachedTo: region.place())
      try region.meet()
      try add(20_000, mutex, region)
      try region.meet()
    }
    join()
    #expect(region[0] == 2 * Self.rounds)
  }

  @Test("a lock of a mutex ends at its deadline while the other process holds it")
  func mutexTimed() async throws {
    let region = try SharedRegion(making: "mutex-timed")
    let mutex = try unsafe PosixMutex(sharedAt: region.place(0))
    let inheriting = try unsafe PosixMutex(
      sharedAt: region.place(1), .init(priorityProtocol: .inherit))
    let join = try besides {
      try region.meet()
      for held in [mutex, inheriting] {
        #expect(try held.tryLock() == nil)
        let start = MonotonicInstant.now
        #expect(try held.lock(for: .milliseconds(3)) == nil)
        #expect(start.duration(to: .now) >= .milliseconds(3))
      }
      try region.meet()
      for held in [mutex, inheriting] {
        #expect(try held.lock(for: limit) == .acquired)
        try held.unlock()
      }
    }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      let region = try SharedRegion(finding: name)
      func hold() throws {
        let mutexes = [0, 1].map { unsafe PosixMutex(attachedTo: region.place($0)) }
        for mutex in mutexes { try mutex.lock() }
        try region.meet()
        try region.meet()
        for mutex in mutexes { try mutex.unlock() }
      }
      try hold()
    }
    join()
  }

  @Test("a robust mutex tells the process that waits that its owner's process has ended")
  func robust() async throws {
    let region = try SharedRegion(making: "robust")
    let recovered = try unsafe PosixMutex(sharedAt: region.place(0), .init(isRobust: true))
    let lost = try unsafe PosixMutex(
      sharedAt: region.place(1), .init(kind: .errorChecking, isRobust: true))
    let join = try besides {
      try region.meet()
      // The child ends as it holds both, whether this waits already or not yet.
      #expect(try recovered.lock(for: limit) == .ownerDied)
      try recovered.makeConsistent()
      try recovered.unlock()
      #expect(try recovered.lock(for: limit) == .acquired)
      try recovered.unlock()
      #expect(try lost.lock(for: limit) == .ownerDied)
      try lost.unlock()
      #expect { try lost.lock() } throws: { ($0 as? ThreadingError)?.code == ENOTRECOVERABLE }
      #expect { try lost.tryLock() } throws: { ($0 as? ThreadingError)?.code == ENOTRECOVERABLE }
    }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      func hold() throws {
        let region = try SharedRegion(finding: name)
        for number in [0, 1] { try unsafe PosixMutex(attachedTo: region.place(number)).lock() }
        try region.meet()
        exit(EXIT_SUCCESS)
      }
      try hold()
    }
    join()
  }

  // MARK: The others

  @Test(
    "a reader-writer lock keeps what is written together", .endsInTime,
    arguments: [false, true])
  func readWriteLock(prefersWriters: Bool) async throws {
    let region = try SharedRegion(making: "rwlock-\(prefersWriters)")
    let lock = try unsafe PosixReadWriteLock(
      sharedAt: region.place(), preferring: prefersWriters ? .writers : .readers)
    let join = try besides {
      try region.meet()
      for round in 0..<Self.rounds { try readOrWrite(lock, region, round) }
      try region.meet()
    }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      let region = try SharedRegion(finding: name)
      let lock = unsafe PosixReadWriteLock(attachedTo: region.place())
      try region.meet()
      for round in 0..<20_000 { try readOrWrite(lock, region, round + 1) }
      try region.meet()
    }
    join()
    #expect(region[0] == region[1] && region[0] == Self.rounds)
  }

  @Test(
    "a condition loses no signal between two processes", .endsInTime,
    arguments: [false, true])
  func condition(onRealtimeClock: Bool) async throws {
    let region = try SharedRegion(making: "condition-\(onRealtimeClock)")
    let mutex = try unsafe PosixMutex(sharedAt: region.place(0))
    let condition = try unsafe PosixCondition(sharedAt: region.place(1))
    let join = try besides {
      try region.meet()
      try takeTurns(0, mutex, condition, region, onRealtimeClock)
      try region.meet()
    }
    await #expect(processExitsWith: .success) {
      [name = region.name as String, onRealtimeClock = onRealtimeClock as Bool] in
      let region = try SharedRegion(finding: name)
      let mutex = unsafe PosixMutex(attachedTo: region.place(0))
      let condition = unsafe PosixCondition(attachedTo: region.place(1))
      try region.meet()
      try takeTurns(1, mutex, condition, region, onRealtimeClock)
      try region.meet()
    }
    join()
    #expect(region[1] == 2_000)
  }

  @Test("a condition hands over a mutex whose owner's process ended", .endsInTime)
  func conditionAfterDeath() async throws {
    let region = try SharedRegion(making: "condition-death")
    let mutex = try unsafe PosixMutex(sharedAt: region.place(0), .init(isRobust: true))
    let condition = try unsafe PosixCondition(sharedAt: region.place(1))
    let join = try besides {
      _ = try mutex.lock()
      try region.meet()
      var outcome = PosixCondition.Outcome.woken
      let deadline = MonotonicInstant.now.advanced(by: limit)
      while region[0] == 0, outcome == .woken {
        outcome = try condition.wait(mutex, until: deadline)
      }
      #expect(outcome == .ownerDied)
      try mutex.makeConsistent()
      try mutex.unlock()
    }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      func signalAndEnd() throws {
        let region = try SharedRegion(finding: name)
        let mutex = unsafe PosixMutex(attachedTo: region.place(0))
        let condition = unsafe PosixCondition(attachedTo: region.place(1))
        try region.meet()
        _ = try mutex.lock()
        region[0] = 1
        condition.signal()
        exit(EXIT_SUCCESS)
      }
      try signalAndEnd()
    }
    join()
  }

  @Test("semaphores in shared memory pass turns", .endsInTime)
  func semaphore() async throws {
    let region = try SharedRegion(making: "semaphore")
    let turns = try [0, 1].map { try unsafe PosixSemaphore(sharedAt: region.place($0), 1 - $0) }
    let join = try besides { try passTurns(0, turns, region) }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      let region = try SharedRegion(finding: name)
      let turns = [0, 1].map { unsafe PosixSemaphore(attachedTo: region.place($0)) }
      try passTurns(1, turns, region)
    }
    join()
    #expect(region[0] == 2_000)
  }

  @Test("a semaphore with a name is found by another process", .endsInTime)
  func namedSemaphore() async throws {
    let name = "/swift-threading-test-\(getpid())-two"
    let semaphore = try PosixSemaphore(named: name, .new(value: 0))
    defer { _ = try? PosixSemaphore.unlink(name) }
    let answer = try PosixSemaphore(named: name + "-answer", .new(value: 0))
    defer { _ = try? PosixSemaphore.unlink(name + "-answer") }
    let join = try besides {
      for _ in 0..<100 {
        try semaphore.post()
        #expect(answer.wait(for: limit))
      }
    }
    await #expect(processExitsWith: .success) { [name = name as String] in
      try answerByName(name)
    }
    join()
    #expect(semaphore.value == 0 && answer.value == 0)
  }

  @Test("a barrier is passed by both at once, and tells one of them", .endsInTime)
  func barrier() async throws {
    let region = try SharedRegion(making: "barrier")
    let barrier = try unsafe PosixBarrier(sharedAt: region.place(), 2)
    let join = try besides { pass(barrier, 0, region) }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      let region = try SharedRegion(finding: name)
      pass(unsafe PosixBarrier(attachedTo: region.place()), 1, region)
    }
    join()
    #expect(region[2] + region[3] == 1_000, "one is told in each round")
  }

  @Test("a spin lock excludes", .endsInTime)
  func spinLock() async throws {
    let region = try SharedRegion(making: "spin")
    let lock = try unsafe PosixSpinLock(sharedAt: region.place())
    let join = try besides {
      try region.meet()
      for _ in 0..<Self.rounds { lock.withLock { region[0] += 1 } }
      try region.meet()
    }
    await #expect(processExitsWith: .success) { [name = region.name as String] in
      let region = try SharedRegion(finding: name)
      let lock = unsafe PosixSpinLock(attachedTo: region.place())
      try region.meet()
      for _ in 0..<20_000 { lock.withLock { region[0] += 1 } }
      try region.meet()
    }
    join()
    #expect(region[0] == 2 * Self.rounds)
  }
}

// What both halves do.

private func add(_ count: Int, _ mutex: PosixMutex, _ region: SharedRegion) throws {
  for _ in 0..<count {
    try #require(try mutex.lock(for: limit) == .acquired)
    region[0] += 1
    try mutex.unlock()
  }
}

private func readOrWrite(
  _ lock: PosixReadWriteLock, _ region: SharedRegion, _ round: Int
) throws {
  let deadline = MonotonicInstant.now.advanced(by: limit)
  if round.isMultiple(of: 2) {
    try #require(try lock.writeLock(until: deadline))
    region[0] += 1
    region[1] += 1
  } else {
    try #require(try lock.readLock(until: deadline))
    try #require(region[0] == region[1], "half of a write was seen")
  }
  try lock.unlock()
}

private func takeTurns(
  _ index: Int, _ mutex: PosixMutex, _ condition: PosixCondition, _ region: SharedRegion,
  _ onRealtimeClock: Bool
) throws {
  for _ in 0..<1_000 {
    try mutex.withLock { _ in
      while region[0] != index {
        let outcome: PosixCondition.Outcome
        if onRealtimeClock {
          var now = timespec()
          _ = unsafe clock_gettime(CLOCK_REALTIME, &now)
          outcome = try condition.wait(
            mutex, untilRealtime: .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec) + limit)
        } else {
          outcome = try condition.wait(mutex, for: limit)
        }
        try #require(outcome == .woken)
      }
      region[0] = 1 - index
      region[1] += 1
    }
    condition.signal()
  }
}

private func passTurns(
  _ index: Int, _ turns: [PosixSemaphore], _ region: SharedRegion
) throws {
  for _ in 0..<1_000 {
    try #require(turns[index].wait(for: limit))
    region[0] += 1
    try turns[1 - index].post()
  }
}

private func answerByName(_ name: String) throws {
  let semaphore = try PosixSemaphore(named: name, .existing)
  let answer = try PosixSemaphore(named: name + "-answer", .existingOrNew(value: 7))
  for _ in 0..<100 {
    try #require(semaphore.wait(for: limit))
    try answer.post()
  }
  #expect { try PosixSemaphore(named: name, .new(value: 0)) } throws: {
    ($0 as? ThreadingError)?.code == EEXIST
  }
}

private func pass(_ barrier: PosixBarrier, _ index: Int, _ region: SharedRegion) {
  for round in 1...1_000 {
    region[index] = round
    if barrier.wait() { region[2 + index] += 1 }
    if region[1 - index] != round { fatalError("passed before the other had come") }
    barrier.wait()
  }
}
