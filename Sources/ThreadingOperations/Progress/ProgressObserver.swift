internal import Synchronization
internal import ThreadingRunLoop

/// Who is told of the percents of a ``WorkProgress``.
public final class ProgressObserver: Sendable {
  private let loop: ThreadRunLoop?
  private let modes: ThreadRunLoop.ModeSet
  private let body: @Sendable (WorkProgress.Counts) -> Void

  // State      | meaning                                  | leaves by
  // 0 idle     | has been told all                        | tell() -> telling
  // 1 telling  | a call is under way or posted            | tell() -> again, its end -> idle
  // 2 again    | the counts have changed since it began   | the call looks once more -> telling
  private let state = Atomic<UInt8>(0)
  /// What was told last. relaxed: only touched by the call that is under way; `state` hands it on.
  private let lastStep = Atomic<Int>(-1)
  private let cancelled = Atomic<Bool>(false)

  init(
    loop: ThreadRunLoop?, modes: ThreadRunLoop.ModeSet,
    body: @escaping @Sendable (WorkProgress.Counts) -> Void
  ) {
    self.loop = loop
    self.modes = modes
    self.body = body
  }

  /// Has no further call begin. A call that is under way on another thread may still go on.
  public func cancel() { cancelled.store(true, ordering: .releasing) }

  /// Whether ``cancel()`` was called.
  public var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func tell(_ progress: WorkProgress) {
    var seen = state.load(ordering: .relaxed)
    while true {
      if seen == 2 { return }
      // releasing: the call sees the counts. acquiring: it sees what the last one has told.
      let (exchanged, original) = state.compareExchange(
        expected: seen, desired: seen + 1, ordering: .acquiringAndReleasing)
      if exchanged { break }
      seen = original
    }
    guard seen == 0 else { return }
    if let loop {
      // A loop that has ended releases the block.
      loop.perform(in: modes) { self.call(progress) }
    } else {
      call(progress)
    }
  }

  private func call(_ progress: WorkProgress) {
    repeat {
      // acquiring: what was counted before the word was set is seen here.
      _ = state.exchange(1, ordering: .acquiringAndReleasing)
      let counts = progress.counts
      if !isCancelled, lastStep.exchange(counts.step, ordering: .relaxed) != counts.step {
        body(counts)
      }
      // releasing: hands on what was told; if it fails, the counts have changed.
    } while !state.compareExchange(expected: 1, desired: 0, ordering: .acquiringAndReleasing)
      .exchanged
  }
}
