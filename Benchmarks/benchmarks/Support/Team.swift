import BenchmarkSupport
import Synchronization
import ThreadingPlatform

/// Threads that start an errand together.
enum Team {
  /// Where its threads run.
  enum Placement: Sendable {
    /// Where the scheduler puts them.
    case free
    /// All on one processor.
    case oneProcessor
    /// Each on another processor, as far as there are so many.
    case ownProcessors

    func bindCurrentThread(number: Int) {
      switch self {
      case .free: break
      case .oneProcessor: ProcessorBinding.bindCurrentThread(to: 0)
      case .ownProcessors: ProcessorBinding.bindCurrentThread(to: number)
      }
    }
  }

  /// Runs `errand` on `count` bare threads, each with its number from 0, released together once all
  /// have started.
  ///
  /// - Returns: nanoseconds from the first to start to the last to end.
  /// - Throws: when the system refuses a thread; those that started have then ended, without running
  ///   `errand`.
  static func run(
    _ count: Int, on placement: Placement = .free, _ errand: @escaping @Sendable (Int) -> Void
  ) throws(ThreadingError) -> Int64 {
    let board = Board(count: count)
    var threads: [SystemThread] = []
    defer { for thread in threads { thread.join() } }
    for index in 0..<count {
      do {
        threads.append(
          try SystemThread.start(.init(stackSize: 1 << 20)) {
            placement.bindCurrentThread(number: index)
            board.work(index, errand)
          })
      } catch {
        board.open(.calledOff)
        throw error
      }
    }
    board.awaitArrivals()
    board.open(.go)
    for thread in threads { thread.join() }
    threads.removeAll()
    return board.span
  }
}

/// Where a team gathers, and what each of its threads reports.
private final class Board: Sendable {
  enum Gate: UInt32 {
    case closed = 0
    case go = 1
    case calledOff = 2
  }

  private let gate = Atomic<UInt32>(0)
  private let arrived = Atomic<UInt32>(0)
  private let count: Int
  // The earliest start and the latest end, in nanoseconds.
  private let start = Atomic<Int64>(.max)
  private let end = Atomic<Int64>(.min)

  init(count: Int) {
    self.count = count
  }

  func work(_ index: Int, _ errand: (Int) -> Void) {
    // releasing: a thread that has arrived has nothing left to do but to wait for the gate.
    arrived.wrappingAdd(1, ordering: .releasing)
    Futex.wake(arrived, count: 1)
    // acquiring: pairs with the release in open().
    while gate.load(ordering: .acquiring) == Gate.closed.rawValue {
      _ = Futex.wait(gate, while: Gate.closed.rawValue)
    }
    guard gate.load(ordering: .relaxed) == Gate.go.rawValue else { return }
    // relaxed, both: read after the threads have been joined.
    start.min(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
    errand(index)
    end.max(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
  }

  func awaitArrivals() {
    while true {
      // acquiring: pairs with the release in work().
      let seen = arrived.load(ordering: .acquiring)
      if seen == UInt32(count) { return }
      _ = Futex.wait(arrived, while: seen)
    }
  }

  func open(_ state: Gate) {
    // releasing: what was set up before is visible to the team.
    gate.store(state.rawValue, ordering: .releasing)
    Futex.wakeAll(gate)
  }

  /// Only once the threads have been joined.
  var span: Int64 { end.load(ordering: .relaxed) - start.load(ordering: .relaxed) }
}
