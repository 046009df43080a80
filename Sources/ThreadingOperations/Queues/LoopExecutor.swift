internal import Synchronization
internal import ThreadingPlatform
internal import ThreadingRunLoop

/// Has a run loop's thread drain lanes: each drain is a block posted to the loop.
final class LoopExecutor: LaneExecutor {
  let loop: ThreadRunLoop
  private let modes: ThreadRunLoop.ModeSet

  init(_ loop: ThreadRunLoop, _ modes: ThreadRunLoop.ModeSet) {
    self.loop = loop
    self.modes = modes
  }

  func request(_ lane: DrainLane, count: Int) {
    for _ in 0..<count {
      let ticket = LoopDrain(lane)
      loop.perform(in: modes) { ticket.run() }
    }
  }

  /// There is one thread.
  var drainLimit: Int { 1 }

  var isShutDown: Bool { loop.hasEnded }
  var hasEnded: Bool { loop.hasEnded }

  func beginTurn() -> DrainTurn { DrainTurn(begin: .now) }

  /// How long a drain keeps the loop from its timers and sources, in operations that end soon.
  private static let longestTurn = Duration.milliseconds(2)

  func isOver(_ turn: DrainTurn) -> Bool {
    guard let begin = turn.begin else { return false }
    return begin.duration(to: .now) > Self.longestTurn
  }

  func servesOnlyOnCurrentThread() -> Bool { loop.isCurrent }

  func tick(before deadline: MonotonicInstant) -> MonotonicInstant { deadline }
  func register(_ lane: DrainLane) {}
  func unregister(_ lane: DrainLane) {}
}

/// One request for a drain on its way to a loop.
///
/// When the loop's thread ends first, the block is released without being run: then everything in the lane is
/// cancelled, so that it ends and is freed, and those that wait go on.
private final class LoopDrain: Sendable {
  private let lane: DrainLane
  private let hasRun = Atomic<Bool>(false)

  init(_ lane: DrainLane) { self.lane = lane }

  deinit {
    // relaxed: the last reference is ours.
    guard !hasRun.load(ordering: .relaxed) else { return }
    _ = lane.abandon()
    // Nothing that it finds there runs any more: all of it was cancelled.
    lane.drain(in: .current)
  }

  func run() {
    hasRun.store(true, ordering: .relaxed)
    lane.drain(in: .current)
  }
}
