import Glibc
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Setting the date", .endsInTime)
struct ClockTests {
  @Test("changes no timed wait: none is on the clock that is set", .endsInTime)
  func monotonic() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      try waitOnAll()
    }
    #expect(message(of: result).isEmpty)
  }

  @Test("would be noticed by this test's filter, as the one wait on that clock is")
  func realtime() async {
    await #expect(processExitsWith: .signal(SIGSYS)) {
      RealtimeClockFilter.install()
      let mutex = try PosixMutex()
      let condition = try PosixCondition()
      _ = try mutex.withLock { _ in
        try condition.wait(mutex, untilRealtime: .seconds(4_000_000_000))
      }
    }
  }
}

/// Waits for what does not come, on every object that has a limit, with the filter in force.
private func waitOnAll() throws {
  RealtimeClockFilter.install()
  let short = Duration.milliseconds(2)
  var waits = 0
  func expires(_ name: String, _ wait: (Duration) throws -> Bool) rethrows {
    let start = MonotonicInstant.now
    let wasEnded = try wait(short)
    if wasEnded || start.duration(to: .now) < short || start.duration(to: .now) > .seconds(20) {
      report("\(name): ended \(wasEnded) after \(start.duration(to: .now))")
    }
    waits += 1
  }
  /// As `expires`, on another thread than the one that holds what is waited for.
  func expiresElsewhere(_ name: String, _ wait: @escaping @Sendable (Duration) -> Bool) throws {
    let result = Locked(true)
    try expires(name) { duration in
      try concurrently(1) { _ in
        let wasEnded = wait(duration)
        result.withLock { $0 = wasEnded }
      }
      return result.withLock { $0 }
    }
  }
  final class Held: Sendable {
    let mutex = FastMutex()
    let recursive = RecursiveLock()
    let readWrite = ReadWriteLock()
    let fair = FairMutex()
    let condition = ConditionVariable()
  }
  let held = Held()
  try held.mutex.withLock { try expiresElsewhere("FastMutex") { held.mutex.lock(for: $0) } }
  try held.recursive.withLock {
    try expiresElsewhere("RecursiveLock") { held.recursive.lock(for: $0) }
  }
  try held.fair.withLock { try expiresElsewhere("FairMutex") { held.fair.lock(for: $0) } }
  try held.readWrite.withWriteLock {
    try expiresElsewhere("ReadWriteLock, reading") { held.readWrite.readLock(for: $0) }
    try expiresElsewhere("ReadWriteLock, writing") { held.readWrite.writeLock(for: $0) }
    try expiresElsewhere("ReadWriteLock, upgradable") { held.readWrite.upgradableLock(for: $0) }
  }
  let value = Locked(0)
  try value.withLock { _ in
    try expiresElsewhere("Locked") { duration in value.withLock(for: duration) { _ in } != nil }
  }
  expires("Locked, when") { value.withLock(when: { $0 == 1 }, for: $0) { _ in } != nil }
  held.mutex.withLock {
    expires("ConditionVariable") { held.condition.wait(held.mutex, for: $0) { false } }
  }
  let conditionLock = ConditionLock(0)
  expires("ConditionLock") { conditionLock.lock(when: 1, for: $0) }
  expires("CountingSemaphore") { CountingSemaphore(0).acquire(for: $0) }
  expires("CountdownLatch") { CountdownLatch(1).wait(for: $0) }
  expires("CyclicBarrier") { CyclicBarrier(2).wait(for: $0).isPassed }
  expires("Phaser") { Phaser(1).wait(forEndOf: 0, until: .now.advanced(by: $0)) }
  expires("ResetEvent, manual") { ResetEvent(.manual).wait(for: $0) }
  expires("ResetEvent, automatic") { ResetEvent(.automatic).wait(for: $0) }
  expires("Exchanger") { Exchanger<Int>().exchange(1, for: $0) != nil }
  expires("Parker") { Parker().park(for: $0) }
  expires("AtomicFlag") { AtomicFlag().wait(for: $0) }
  expires("AtomicCounter") { AtomicCounter().wait(for: $0, when: { $0 == 1 }) != nil }
  expires("AtomicBox") { AtomicBox(0).wait(while: 0, for: $0) != nil }
  expires("AtomicReference") { AtomicReference<Held>().wait(while: nil, for: $0) }

  for kind in [PosixMutex.PriorityProtocol.none, .inherit] {
    let mutex = try PosixMutex(.init(priorityProtocol: kind))
    try mutex.lock()
    try expiresElsewhere("PosixMutex") { (try? mutex.lock(for: $0)) == .some(.acquired) }
    try mutex.unlock()
  }
  let mutex = try PosixMutex()
  let condition = try PosixCondition()
  try mutex.lock()
  try expires("PosixCondition") { try condition.wait(mutex, for: $0) == .woken }
  try mutex.unlock()
  let semaphore = try PosixSemaphore(0)
  expires("PosixSemaphore") { semaphore.wait(for: $0) }
  let lock = try PosixReadWriteLock()
  try lock.writeLock()
  try expiresElsewhere("PosixReadWriteLock, reading") {
    (try? lock.readLock(until: .now.advanced(by: $0))) == true
  }
  try expiresElsewhere("PosixReadWriteLock, writing") {
    (try? lock.writeLock(until: .now.advanced(by: $0))) == true
  }
  try lock.unlock()
  if waits != 28 { fatalError("\(waits) waits, not 28") }
}
