internal import Synchronization
internal import ThreadingPlatform

/// One parallel loop: its items, handed out in pieces to the thread that called it and to those of the pool
/// that come to help.
///
/// The caller works too, and waits only for helpers that have begun. So a loop needs no thread but its own to
/// come to its end, wherever it is called, and loops in loops cannot wait for each other.
final class ParallelJob: DrainLane, @unchecked Sendable {
  // SAFETY of @unchecked: `body` is written by the initialiser, read by those who have entered, and dropped
  // by the caller when nobody is inside and nobody can enter.

  private let count: Int
  /// The size of a piece; nil for pieces that become smaller toward the end.
  private let piece: Int?
  private let workers: Int
  private var body: ((Range<Int>) -> Bool)?

  /// The first item that was not handed out.
  private let next = Atomic<Int>(0)

  // bits 0-30 helpers inside | bit 31 the loop is over
  private let gate = Atomic<UInt32>(0)
  private static let isOver: UInt32 = 1 << 31

  /// A loop over `count` items.
  ///
  /// - Parameters:
  ///   - count: how many items.
  ///   - piece: how many go to a thread at once; nil has it found.
  ///   - workers: how many threads are expected to take part.
  ///   - body: does a piece; false ends the loop early.
  init(count: Int, piece: Int?, workers: Int, body: @escaping (Range<Int>) -> Bool) {
    self.count = count
    self.piece = piece
    self.workers = workers
    self.body = body
  }

  /// Takes a part of the work, as the caller or a helper.
  private func work() {
    guard let body else {
      fatalError("ParallelJob: a thread has entered a loop that is over")
    }
    while let range = take() {
      // relaxed: who is too late to see it does one piece in vain.
      if !body(range) { next.store(count, ordering: .relaxed) }
    }
  }

  /// The next piece. What is left is shared among the threads in parts that become smaller, so that few steps
  /// are made where items are cheap, and all threads end at about the same time where they are not.
  private func take() -> Range<Int>? {
    // relaxed: the items' data is handed over by the gate and the pool's lock.
    var first = next.load(ordering: .relaxed)
    while first < count {
      let size = min(count - first, piece ?? max(1, (count - first) / (workers * 4)))
      let (exchanged, original) = next.compareExchange(
        expected: first, desired: first + size, ordering: .relaxed)
      if exchanged { return first..<(first + size) }
      first = original
    }
    return nil
  }

  /// Runs the loop on the calling thread, with what help comes.
  func run(on pool: PoolCore) {
    let pieces = piece.map { count / $0 + (count % $0 == 0 ? 0 : 1) } ?? count
    let helpers = min(workers, pieces) - 1
    if helpers > 0 { work(helpedBy: helpers, of: pool) } else { work() }
    // acquiring and releasing: pairs with the helpers' leaving, and keeps later ones from entering.
    let inside = gate.bitwiseOr(Self.isOver, ordering: .acquiringAndReleasing).oldValue
    if inside != 0 { waitForHelpers() }
    body = nil
  }

  private func work(helpedBy helpers: Int, of pool: PoolCore) {
    let context = OperationContext.current
    guard !context.isInLoop else {
      // The loop around this one has what threads there are; those that have done their part of it, or have not
      // been needed, may come. Loops without number would otherwise each wake a thread, to find no processor.
      pool.offer(self, count: helpers, isUrgent: false)
      work()
      pool.withdraw(self)
      return
    }
    let isOutside = context.pool !== pool
    if isOutside { pool.countGuests(1) }
    pool.offer(self, count: helpers, isUrgent: true)
    context.isInLoop = true
    work()
    context.isInLoop = false
    pool.withdraw(self)
    if isOutside { pool.countGuests(-1) }
  }

  private func waitForHelpers() {
    var spins = 0
    while true {
      let seen = gate.load(ordering: .acquiring)
      if seen == Self.isOver { return }
      // They are at their last pieces, which are short in most loops.
      if spins < 1_000 {
        spins += 1
        Processors.relax()
        continue
      }
      ThreadPool.blocking { _ = Futex.wait(gate, while: seen) }
    }
  }

  override func drain(in context: OperationContext) {
    var seen = gate.load(ordering: .relaxed)
    while seen & Self.isOver == 0 {
      // acquiring: pairs with the caller's making of the job.
      let (entered, original) = gate.compareExchange(
        expected: seen, desired: seen + 1, ordering: .acquiring)
      guard !entered else {
        context.isInLoop = true
        work()
        context.isInLoop = false
        // releasing: what the pieces wrote is seen by the caller.
        let left = gate.subtract(1, ordering: .releasing).newValue
        if left == Self.isOver { Futex.wake(gate, count: 1) }
        return
      }
      seen = original
    }
  }
}
