import Dispatch
import Foundation
import Glibc
import Synchronization
import ThreadingPlatform

/// What every layer stands on: the clock and the wake of a sleeping thread.
enum PlatformWorkloads {
  static let all = [
    clockRead,
    wakePingPong("platform/futex-ping-pong", on: .ownProcessors),
    wakePingPong("platform/futex-ping-pong-one-core", on: .oneProcessor),
    pollerPingPong("platform/poller-ping-pong", on: .ownProcessors),
    pollerPingPong("platform/poller-ping-pong-one-core", on: .oneProcessor),
  ]

  private static let clockRead = Workload(
    "platform/clock-read", item: "one reading of the clock", threads: 1,
    [
      .ours { items in
        try clockBatch(items) { UInt64(bitPattern: MonotonicInstant.now.nanoseconds) }
      },
      Implementation("kernel") { items in
        try clockBatch(items) {
          var now = timespec()
          _ = unsafe clock_gettime(CLOCK_MONOTONIC, &now)
          return UInt64(now.tv_sec) &* 1_000_000_000 &+ UInt64(now.tv_nsec)
        }
      },
      Implementation("dispatch") { items in
        try clockBatch(items) { DispatchTime.now().uptimeNanoseconds }
      },
      Implementation("stdlib") { items in
        // The instant does not show its number, only its distance from another one.
        let start = ContinuousClock.now
        return try clockBatch(items) {
          UInt64(bitPattern: start.duration(to: .now).components.attoseconds)
        }
      },
      Implementation("foundation") { items in
        try clockBatch(items) { Date().timeIntervalSinceReferenceDate.bitPattern }
      },
    ])

  @inline(__always)
  private static func clockBatch(_ items: Int, _ read: () -> UInt64) throws -> Int64 {
    let stopwatch = Stopwatch()
    for _ in 0..<items { Sink.swallow(read()) }
    return stopwatch.nanoseconds
  }

  private static func wakePingPong(_ name: String, on processors: Team.Placement) -> Workload {
    Workload(
      name, item: "one round trip between two threads", threads: 2,
      [
        .ours(PingPong.batch(on: processors) { FutexSignal() }),
        Implementation(
          "pthread", PingPong.batch(on: processors) { PthreadConditionSignal(whileLocked: true) }),
        Implementation(
          "posix-semaphore", PingPong.batch(on: processors) { PosixSemaphoreSignal(value: 0) }),
        Implementation("dispatch", PingPong.batch(on: processors) { DispatchSignal() }),
      ])
  }

  private static func pollerPingPong(_ name: String, on processors: Team.Placement) -> Workload {
    Workload(
      name, item: "one round trip between two threads that poll", threads: 2,
      [
        .ours(PingPong.batch(on: processors) { try PollerSignal() }),
        Implementation("kernel", PingPong.batch(on: processors) { try EventDescriptor() }),
        Implementation("pipe", PingPong.batch(on: processors) { try PipeSignal() }),
      ])
  }
}

/// A word that is 1 while the signal is given; each signal makes one system call.
final class FutexSignal: TurnSignal {
  private let word = Atomic<UInt32>(0)

  func signal() {
    // releasing: what was written before is visible to the thread that takes the signal.
    word.store(1, ordering: .releasing)
    Futex.wake(word, count: 1)
  }

  func wait() {
    // acquiring: pairs with the release in signal().
    while word.exchange(0, ordering: .acquiring) == 0 { _ = Futex.wait(word, while: 0) }
  }
}

/// A word that is 1 while the signal is given, and is looked at without an end: the least that two threads
/// need which own a processor each, and do nothing else.
final class SpinningSignal: TurnSignal {
  private let word = Atomic<UInt32>(0)

  func signal() {
    // releasing: as for the futex word.
    word.store(1, ordering: .releasing)
  }

  func wait() {
    // acquiring: pairs with the release in signal().
    while word.load(ordering: .relaxed) == 0 || word.exchange(0, ordering: .acquiring) == 0 {
      Processors.relax()
    }
  }
}

/// The poller of the run loop, with nothing to watch.
private final class PollerSignal: TurnSignal {
  private let poller: Poller

  init() throws(ThreadingError) {
    poller = try Poller()
  }

  func signal() { poller.wake() }

  func wait() {
    var ready: [Poller.Event] = []
    while !poller.wait(until: .distantFuture, into: &ready) {}
  }
}
