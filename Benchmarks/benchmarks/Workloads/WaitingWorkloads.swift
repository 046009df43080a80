import BenchmarkSupport
import BenchmarkSupport
import Dispatch
import Foundation
import Threading

/// Conditions and semaphores.
enum WaitingWorkloads {
  static let all = [
    idleSignal,
    conditionPingPong("condition/ping-pong", on: .ownProcessors),
    conditionPingPong("condition/ping-pong-one-core", on: .oneProcessor),
    unlockedPingPong("condition/ping-pong-unlocked-one-core", on: .oneProcessor),
    semaphoreUncontended,
    semaphorePingPong("semaphore/ping-pong", on: .ownProcessors),
    semaphorePingPong("semaphore/ping-pong-one-core", on: .oneProcessor),
  ]

  private static let idleSignal = Workload(
    "condition/idle-signal", item: "signal a condition that nobody waits for", threads: 1,
    [
      .ours { items in
        let condition = ConditionBox()
        let stopwatch = Stopwatch()
        for _ in 0..<items { condition.signal() }
        return stopwatch.nanoseconds
      },
      Implementation("foundation") { items in
        let condition = NSCondition()
        let stopwatch = Stopwatch()
        for _ in 0..<items { condition.signal() }
        return stopwatch.nanoseconds
      },
      Implementation("pthread") { items in
        let condition = PthreadCondition()
        let stopwatch = Stopwatch()
        for _ in 0..<items { condition.signal() }
        return stopwatch.nanoseconds
      },
    ])

  private static func conditionPingPong(_ name: String, on processors: Team.Placement) -> Workload {
    Workload(
      name, item: "one round trip, each signal given with the mutex held", threads: 2,
      [
        .ours(PingPong.batch(on: processors) { OurConditionSignal(whileLocked: true) }),
        Implementation(
          "foundation",
          PingPong.batch(on: processors) { FoundationConditionSignal(whileLocked: true) }),
        Implementation(
          "pthread", PingPong.batch(on: processors) { PthreadConditionSignal(whileLocked: true) }),
        Implementation("kernel", PingPong.batch(on: processors) { FutexSignal() }),
      ] + spinning(on: processors))
  }

  /// For threads that own a processor each; on a shared one it would use up its slices.
  private static func spinning(on processors: Team.Placement) -> [Implementation] {
    guard processors == .ownProcessors, ProcessorBinding.ofCurrentThread.count > 1 else {
      return []
    }
    return [Implementation("kernel-spin", PingPong.batch(on: processors) { SpinningSignal() })]
  }

  private static func unlockedPingPong(_ name: String, on processors: Team.Placement) -> Workload {
    Workload(
      name, item: "one round trip, each signal given after the mutex", threads: 2,
      [
        .ours(PingPong.batch(on: processors) { OurConditionSignal(whileLocked: false) }),
        Implementation(
          "foundation",
          PingPong.batch(on: processors) { FoundationConditionSignal(whileLocked: false) }),
        Implementation(
          "pthread", PingPong.batch(on: processors) { PthreadConditionSignal(whileLocked: false) }),
        Implementation("kernel", PingPong.batch(on: processors) { FutexSignal() }),
      ])
  }

  private static let semaphoreUncontended = Workload(
    "semaphore/uncontended", item: "give a permit and take it", threads: 1,
    [
      .ours { items in
        let semaphore = CountingSemaphore(0)
        return permitBatch(items, { semaphore.release() }, { semaphore.acquire() })
      },
      Implementation("dispatch") { items in
        let semaphore = DispatchSemaphore(value: 0)
        return permitBatch(items, { semaphore.signal() }, { semaphore.wait() })
      },
      Implementation("posix-semaphore") { items in
        let semaphore = PosixSemaphoreSignal(value: 0)
        return permitBatch(items, { semaphore.signal() }, { semaphore.wait() })
      },
    ])

  /// Every permit that is taken was given, or the batch would not end.
  @inline(__always)
  private static func permitBatch(
    _ items: Int, _ give: () -> Void, _ take: () -> Void
  ) -> Int64 {
    let stopwatch = Stopwatch()
    for _ in 0..<items {
      give()
      take()
    }
    return stopwatch.nanoseconds
  }

  private static func semaphorePingPong(_ name: String, on processors: Team.Placement) -> Workload {
    Workload(
      name, item: "one round trip between two threads", threads: 2,
      [
        .ours(PingPong.batch(on: processors) { OurSemaphoreSignal() }),
        Implementation("dispatch", PingPong.batch(on: processors) { DispatchSignal() }),
        Implementation(
          "posix-semaphore", PingPong.batch(on: processors) { PosixSemaphoreSignal(value: 0) }),
        Implementation("kernel", PingPong.batch(on: processors) { FutexSignal() }),
      ] + spinning(on: processors))
  }
}

private final class ConditionBox: Sendable {
  private let condition = ConditionVariable()

  @inline(__always)
  func signal() { condition.signal() }
}
