import BenchmarkSupport
import Dispatch
import Foundation
import Synchronization
import Threading

/// Locks.
enum LockWorkloads {
  static func all(threads: [Int]?) -> [Workload] {
    [uncontended, value, recursive, reading, writing, posixMutex, posixSpin]
      + (threads ?? [2, 4, 8]).map(contended) + (threads ?? [2, 4]).map(readingTogether)
      + (threads ?? [2, 4]).map(readingMostly) + (threads ?? [2, 4]).map(readingOnly)
  }

  private static let uncontended = Workload(
    "lock/uncontended", item: "take and give back a lock that nobody else wants", threads: 1,
    [
      .ours { try uncontendedBatch(FastLock(), $0) },
      Implementation("foundation") { try uncontendedBatch(FoundationLock(), $0) },
      Implementation("synchronization") { try uncontendedBatch(SynchronizationLock(), $0) },
      Implementation("pthread") { try uncontendedBatch(PthreadLock(), $0) },
      Implementation("kernel") { try uncontendedBatch(TwoAtomicSteps(), $0) },
    ])

  @inline(__always)
  private static func uncontendedBatch<Lock: LockUnderTest>(
    _ lock: Lock, _ items: Int
  ) throws -> Int64 {
    let tally = Tally()
    let stopwatch = Stopwatch()
    for _ in 0..<items { lock.withLock { tally.increment() } }
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the count under the lock", tally.value, is: items)
    return nanoseconds
  }

  private static let recursive = Workload(
    "lock/recursive", item: "take a lock twice and give it back twice", threads: 1,
    [
      .ours { try uncontendedBatch(OurRecursiveLock(), $0) },
      Implementation("foundation") { try uncontendedBatch(FoundationRecursiveLock(), $0) },
      Implementation("pthread") { try uncontendedBatch(PthreadRecursiveLock(), $0) },
    ])

  private static let reading = Workload(
    "lock/read", item: "take and give back a lock for reading, alone", threads: 1,
    [
      .ours { try uncontendedBatch(OurReadLock(), $0) },
      Implementation("pthread") { try uncontendedBatch(PthreadReadLock(), $0) },
    ])

  private static let writing = Workload(
    "lock/write", item: "take and give back a lock for writing, alone", threads: 1,
    [
      .ours { try uncontendedBatch(OurWriteLock(), $0) },
      Implementation("pthread") { try uncontendedBatch(PthreadWriteLock(), $0) },
    ])

  /// What it costs that misuse is found: the types of POSIX against the bare calls.
  private static let posixMutex = Workload(
    "lock/posix-mutex", item: "take and give back a mutex of POSIX that nobody else wants",
    threads: 1,
    [
      .ours { try uncontendedBatch(OurPosixMutex(), $0) },
      Implementation("pthread") { try uncontendedBatch(PthreadLock(), $0) },
    ])

  private static let posixSpin = Workload(
    "lock/posix-spin", item: "take and give back a spin lock of POSIX that nobody else wants",
    threads: 1,
    [
      .ours { try uncontendedBatch(OurPosixSpinLock(), $0) },
      Implementation("pthread") { try uncontendedBatch(PthreadSpinLock(), $0) },
    ])

  /// The locks alone, without the work that takes most of the time of the others.
  private static func readingOnly(_ threads: Int) -> Workload {
    Workload(
      "lock/read-only-\(threads)",
      item: "take and give back the lock for reading, and nothing else",
      threads: threads, family: "lock/read-only",
      [
        .ours { try readingOnlyBatch(OurReadLock(), threads, $0) },
        Implementation("pthread") { try readingOnlyBatch(PthreadReadLock(), threads, $0) },
      ])
  }

  @inline(__always)
  private static func readingOnlyBatch<Lock: LockUnderTest>(
    _ lock: Lock, _ threads: Int, _ items: Int
  ) throws -> Int64 {
    let own = (0..<threads).map { _ in Tally() }
    let nanoseconds = try Team.run(threads, on: .ownProcessors) { index in
      let share = items / threads + (index < items % threads ? 1 : 0)
      let tally = own[index]
      for _ in 0..<share { lock.withLock { tally.increment() } }
    }
    try WrongResult.unless("the sum of all turns", own.map(\.value).reduce(0, +), is: items)
    return nanoseconds
  }

  private static func readingTogether(_ threads: Int) -> Workload {
    Workload(
      "lock/read-\(threads)", item: "hold the lock for reading 20 ns, do 50 ns without it",
      threads: threads, family: "lock/read-together",
      [
        .ours { try readingBatch(OurReadLock(), threads, $0) },
        Implementation("pthread") { try readingBatch(PthreadReadLock(), threads, $0) },
        // What readers would use that do not care to share.
        Implementation("ours-mutex") { try readingBatch(FastLock(), threads, $0) },
        // The work alone: no lock can be quicker.
        Implementation("none") { try readingBatch(NoLock(), threads, $0) },
      ])
  }

  private static func readingMostly(_ threads: Int) -> Workload {
    Workload(
      "lock/read-mostly-\(threads)", item: "the same, but every 1,000th turn is for writing",
      threads: threads, family: "lock/read-mostly",
      [
        .ours { try mostlyBatch(OurReadLock(), threads, $0) },
        Implementation("pthread") { try mostlyBatch(PthreadReadLock(), threads, $0) },
        Implementation("ours-mutex") { try mostlyBatch(FastLock(), threads, $0) },
      ])
  }

  /// Writers count in common: a lock that does not keep them apart loses some.
  @inline(__always)
  private static func mostlyBatch<Lock: WriteLockUnderTest>(
    _ lock: Lock, _ threads: Int, _ items: Int
  ) throws -> Int64 {
    let written = Tally()
    let nanoseconds = try Team.run(threads) { index in
      let share = items / threads + (index < items % threads ? 1 : 0)
      var state = UInt64(index + 1)
      for turn in 1...max(1, share) {
        if turn.isMultiple(of: 1_000) {
          lock.withWriteLock { written.increment() }
        } else {
          lock.withLock { state = Work.steps(Work.stepsInside, from: state) }
        }
        state = Work.steps(Work.stepsOutside, from: state)
      }
      Sink.swallow(state)
    }
    let expected = (0..<threads).map { (items / threads + ($0 < items % threads ? 1 : 0)) / 1_000 }
    try WrongResult.unless("the writers' count", written.value, is: expected.reduce(0, +))
    return nanoseconds
  }

  /// Readers have no count in common: each does its share.
  @inline(__always)
  private static func readingBatch<Lock: LockUnderTest>(
    _ lock: Lock, _ threads: Int, _ items: Int
  ) throws -> Int64 {
    let own = (0..<threads).map { _ in Tally() }
    let nanoseconds = try Team.run(threads) { index in
      let share = items / threads + (index < items % threads ? 1 : 0)
      var state = UInt64(index + 1)
      for _ in 0..<share {
        lock.withLock {
          own[index].increment()
          state = Work.steps(Work.stepsInside, from: state)
        }
        state = Work.steps(Work.stepsOutside, from: state)
      }
      Sink.swallow(state)
    }
    try WrongResult.unless("the sum of all turns", own.map(\.value).reduce(0, +), is: items)
    return nanoseconds
  }

  private static func contended(_ threads: Int) -> Workload {
    Workload(
      "lock/contended-\(threads)", item: "take the lock for 20 ns, do 50 ns without it",
      threads: threads, family: "lock/contended",
      [
        .ours { try contendedBatch(FastLock(), threads, $0) },
        Implementation("foundation") { try contendedBatch(FoundationLock(), threads, $0) },
        Implementation("synchronization") {
          try contendedBatch(SynchronizationLock(), threads, $0)
        },
        Implementation("pthread") { try contendedBatch(PthreadLock(), threads, $0) },
      ])
  }

  /// Threads that count to `items` between them. They stop at the shared count, not at a share
  /// each, so that no thread is left alone at the end by a lock that favours the others.
  @inline(__always)
  private static func contendedBatch<Lock: LockUnderTest>(
    _ lock: Lock, _ threads: Int, _ items: Int
  ) throws -> Int64 {
    let shared = Tally()
    let own = (0..<threads).map { _ in Tally() }
    let nanoseconds = try Team.run(threads) { index in
      var state = UInt64(index + 1)
      var turns = 0
      while true {
        var mayGoOn = false
        lock.withLock {
          guard shared.value < items else { return }
          shared.increment()
          state = Work.steps(Work.stepsInside, from: state)
          mayGoOn = true
        }
        guard mayGoOn else { break }
        turns += 1
        state = Work.steps(Work.stepsOutside, from: state)
      }
      Sink.swallow(state)
      own[index].value = turns
    }
    try WrongResult.unless("the shared count", shared.value, is: items)
    try WrongResult.unless("the sum of all turns", own.map(\.value).reduce(0, +), is: items)
    return nanoseconds
  }

  private static let value = Workload(
    "lock/value", item: "add 1 to a value that its lock holds", threads: 1,
    [
      .ours { items in
        let locked = Locked(0)
        let stopwatch = Stopwatch()
        for _ in 0..<items { locked.withLock { $0 &+= 1 } }
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("the value", locked.withLock { $0 }, is: items)
        return nanoseconds
      },
      Implementation("synchronization") { items in
        let mutex = MutexBox()
        let stopwatch = Stopwatch()
        for _ in 0..<items { mutex.increment() }
        let nanoseconds = stopwatch.nanoseconds
        try WrongResult.unless("the value", mutex.value, is: items)
        return nanoseconds
      },
    ])
}

/// The standard library's lock with its value, in a class so that it has an address.
private final class MutexBox: Sendable {
  private let mutex = Mutex(0)

  @inline(__always)
  func increment() { mutex.withLock { $0 &+= 1 } }

  var value: Int { mutex.withLock { $0 } }
}
