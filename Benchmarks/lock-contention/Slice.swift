import Glibc
import Synchronization
import Threading
import ThreadingPlatform

/// What a slice is run with.
struct Setting: Sendable {
  let threads: Int
  let stepsInside: Int
  let stepsOutside: Int
  let nanoseconds: Int64
  let placement: Options.Placement
  /// Whether every turn is timed, which takes some 30 ns of it.
  let timesTurns: Bool
}

/// A stretch of time in which threads take a lock in turn, and what came of it.
struct Slice: Sendable {
  /// Nanoseconds from the first turn to the last, and of processor time over all threads.
  let wall: Int64
  let processor: Int64
  /// How often threads gave up their processor, to sleep or for others to run.
  let sleeps: Int
  /// Turns of each thread, one at least.
  let turns: [Int]
  /// Turns of another thread than the turn before: of one thread there are none.
  let handovers: Int
  /// The longest time in nanoseconds that any thread went without a turn; 0 if not timed.
  let longest: Int64
  /// The same, without the time in which that thread was ready to run and had no processor.
  let starved: Int64

  /// A lock that let two threads in at a time.
  struct WrongCount: Error, CustomStringConvertible {
    let counted: Int
    let turns: Int

    var description: String { "wrong result: \(turns) turns were counted as \(counted)" }
  }

  /// Runs one slice with new locks.
  ///
  /// - Throws: when the turns do not add up, or the system refuses a thread.
  @inline(__always)
  static func run<Lock: ContendedLock>(
    _ setting: Setting, _ make: () -> Lock
  ) throws -> Slice {
    let shared = Place(make())
    let places = (0..<setting.threads).map { _ in Lock.isShared ? shared : Place(make()) }
    let stop = StopFlag()
    let arrived = CountdownLatch(setting.threads)
    let gate = ResetEvent(.manual)
    var attributes = ThreadAttributes()
    if setting.placement == .one {
      attributes.cpus = CPUSet(try CPUSet.allowed().numbers.prefix(1))
    }
    var threads: [PosixThread<Turns, Never>] = []
    do {
      for index in 0..<setting.threads {
        threads.append(
          try PosixThread.start(attributes) { () -> Turns in
            arrived.countDown()
            gate.wait()
            return takeTurns(index, places[index], setting, stop)
          })
      }
    } catch {
      stop.raise()
      gate.set()
      for thread in threads { _ = try thread.join() }
      throw error
    }
    arrived.wait()
    gate.set()
    SystemThread.sleep(until: .now.advanced(by: .nanoseconds(setting.nanoseconds)))
    stop.raise()
    let results = try threads.map { try $0.join() }
    let turns = results.map(\.count)
    let counted = Lock.isShared ? shared.count : places.map(\.count).reduce(0, +)
    guard counted == turns.reduce(0, +) else {
      throw WrongCount(counted: counted, turns: turns.reduce(0, +))
    }
    return Slice(
      wall: results.map(\.end).max()! - results.map(\.start).min()!,
      processor: results.map(\.processor).reduce(0, +),
      sleeps: results.map(\.sleeps).reduce(0, +), turns: turns,
      handovers: shared.handovers, longest: results.map(\.longest).max()!,
      starved: results.map(\.starved).max()!)
  }

  @inline(__always)
  private static func takeTurns<Lock: ContendedLock>(
    _ index: Int, _ place: Place<Lock>, _ setting: Setting, _ stop: StopFlag
  ) -> Turns {
    var result = Turns()
    var state = UInt64(index + 1)
    let processor = processorTime()
    let sleeps = sleepCount()
    result.start = MonotonicInstant.now.nanoseconds
    var last = result.start
    var ready = ReadyTime()
    defer { ready.close() }
    _ = ready.take()
    // A turn at least, so that there are figures of a thread that first runs when the time is up.
    repeat {
      place.lock.withLock {
        place.turn(of: index)
        state = Work.steps(setting.stepsInside, from: state)
      }
      result.count += 1
      state = Work.steps(setting.stepsOutside, from: state)
      if setting.timesTurns {
        let now = MonotonicInstant.now.nanoseconds
        let time = now - last
        result.longest = max(result.longest, time)
        last = now
        // No look at the kernel's figure for less than it may keep a thread from its processor.
        if time < 100_000 {
          result.starved = max(result.starved, time)
        } else {
          result.starved = max(result.starved, time - ready.take())
          last = MonotonicInstant.now.nanoseconds
        }
      }
    } while !stop.isRaised
    result.end = MonotonicInstant.now.nanoseconds
    result.processor = processorTime() - processor
    result.sleeps = sleepCount() - sleeps
    Work.swallow(state)
    return result
  }

  /// `RUSAGE_THREAD`, which the Glibc module does not show.
  private static let thread: CInt = 1

  /// How often the calling thread has given up its processor.
  private static func sleepCount() -> Int {
    var usage = rusage()
    _ = unsafe getrusage(thread, &usage)
    return usage.ru_nvcsw
  }

  /// Nanoseconds that the calling thread has run.
  private static func processorTime() -> Int64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

/// What one thread has to tell of a slice.
private struct Turns: Sendable {
  var count = 0
  var longest: Int64 = 0
  var starved: Int64 = 0
  var start: Int64 = 0
  var end: Int64 = 0
  var processor: Int64 = 0
  var sleeps = 0
}

private final class StopFlag: Sendable {
  private let flag = Atomic<Bool>(false)

  // relaxed, both: nothing goes with it; what the threads did is read after they were joined.
  @inline(__always)
  var isRaised: Bool { flag.load(ordering: .relaxed) }

  func raise() { flag.store(true, ordering: .relaxed) }
}

/// A lock and what it guards.
// SAFETY of @safe and @unchecked: the pointer is valid from init to deinit; what it points to is
// touched with the lock held, and read after all threads were joined.
@safe
private final class Place<Lock: ContendedLock>: @unchecked Sendable {
  let lock: Lock

  private struct Cell {
    var count = 0
    var handovers = 0
    /// The thread whose turn was last; -1 before the first.
    var last = -1
  }

  // Memory of its own, so that neither the compiler's checks nor the lock's word are in it.
  private let cell: UnsafeMutablePointer<Cell>

  init(_ lock: Lock) {
    self.lock = lock
    unsafe cell = .allocate(capacity: 1)
    unsafe cell.initialize(to: Cell())
  }

  deinit {
    unsafe cell.deallocate()
  }

  @inline(__always)
  func turn(of thread: Int) {
    unsafe cell.pointee.count &+= 1
    let last = unsafe cell.pointee.last
    guard last != thread else { return }
    unsafe cell.pointee.last = thread
    if last >= 0 { unsafe cell.pointee.handovers &+= 1 }
  }

  var count: Int { unsafe cell.pointee.count }
  var handovers: Int { unsafe cell.pointee.handovers }
}
