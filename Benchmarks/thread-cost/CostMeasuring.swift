import BenchmarkSupport
import Dispatch
import Synchronization
import Threading
import ThreadingPlatform

/// Takes the samples.
struct CostMeasuring {
  let options: CostOptions
  private let kinds = ThreadKind.all

  init(_ options: CostOptions) { self.options = options }

  /// All lines of the table.
  ///
  /// - Throws: what the system refused.
  func all() throws -> [Cost] {
    // Measured on a thread of its own while this one waits: the C library takes short cuts in a
    // process with a single thread.
    let found = Locked<Result<[Cost], any Error>>(.success([]))
    let box = ResultBox(found)
    try SystemThread.start(.init()) {
      box.set(Result { try memory() + times() + switches() })
    }.join()
    return try box.get()
  }

  private final class ResultBox: Sendable {
    private let result: Locked<Result<[Cost], any Error>>

    init(_ result: consuming Locked<Result<[Cost], any Error>>) { self.result = result }

    func set(_ new: Result<[Cost], any Error>) { result.withLock { $0 = new } }
    func get() throws -> [Cost] { try result.withLock { $0 }.get() }
  }

  // MARK: - Memory

  /// What is told of memory, and how it is told.
  private enum Held: CaseIterable {
    case resident
    case addresses
    case kernelStack
    case pageTables

    var name: String {
      switch self {
      case .resident: "resident memory"
      case .addresses: "address space"
      case .kernelStack: "kernel stack"
      case .pageTables: "page tables"
      }
    }

    func now() -> Int64 {
      switch self {
      case .resident: ProcessMemory.now().residentBytes
      case .addresses: ProcessMemory.now().addressBytes
      case .kernelStack: KernelFigures.bytes(of: "KernelStack:", in: "/proc/meminfo")
      case .pageTables: KernelFigures.bytes(of: "VmPTE:", in: "/proc/self/status")
      }
    }
  }

  private func memory() throws -> [Cost] {
    var costs: [Cost] = []
    for (label, stackSize) in [("usual stack", nil), ("64 KiB stack", 64 * 1024)] {
      for held in Held.allCases {
        var values: [String: Statistics] = [:]
        for kind in kinds where kind.isThread {
          // What other processes do shows in the kernel's stacks: the median of a few.
          let samples = try (0..<min(5, options.samples)).map { _ in
            try parked(kind, stackSize, held)
          }
          values[kind.name] = Statistics(of: samples)
        }
        costs.append(Cost(name: "\(held.name), \(label)", unit: .bytes, values: values))
      }
    }
    return costs
  }

  private func parked(_ kind: ThreadKind, _ stackSize: Int?, _ held: Held) throws -> Double {
    try ParkedThreads.withStacksUsedUp(stackSize: stackSize ?? 8 << 20) {
      let parked = ParkedThreads(options.threads)
      var joins: [ThreadKind.Join] = []
      defer { for join in joins { try? join() } }
      let bytes = try parked.measure(held.now, stepOnly: false) { _ in
        joins.append(try kind.start(stackSize) { parked.park {} })
      }
      return Double(bytes) / Double(options.threads)
    }
  }

  // MARK: - Starting and ending

  /// How many threads, one after the other, make a sample.
  private static let threadsInSample = 50

  private func times() throws -> [Cost] {
    let names = [
      "start, until the call returns", "start, until the thread runs", "end, until it is joined",
      "start and join",
    ]
    var samples = kinds.map { _ in names.map { _ in [Double]() } }
    // The first round warms up.
    for round in 0...options.samples {
      for index in Interleaving.order(ofRound: round, implementations: kinds.count) {
        let times = try startAndJoin(kinds[index])
        if round == 0 { continue }
        for (place, time) in times.enumerated() { samples[index][place].append(time) }
      }
    }
    return names.indices.map { place in
      Cost(
        name: names[place], unit: .nanoseconds,
        values: Dictionary(
          uniqueKeysWithValues: zip(kinds, samples).map {
            ($0.name, Statistics(of: $1[place]))
          }))
    }
  }

  private func startAndJoin(_ kind: ThreadKind) throws -> [Double] {
    var sums = [Int64](repeating: 0, count: 4)
    let moments = Moments()
    for _ in 0..<Self.threadsInSample {
      let start = MonotonicInstant.now.nanoseconds
      let join = try kind.start(nil) {
        moments.began.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
        moments.ended.store(MonotonicInstant.now.nanoseconds, ordering: .relaxed)
      }
      let returned = MonotonicInstant.now.nanoseconds
      try join()
      let joined = MonotonicInstant.now.nanoseconds
      // relaxed, all: the join has put the thread's writes before these reads.
      sums[0] += returned - start
      sums[1] += moments.began.load(ordering: .relaxed) - start
      sums[2] += joined - moments.ended.load(ordering: .relaxed)
      sums[3] += joined - start
    }
    return sums.map { Double($0) / Double(Self.threadsInSample) }
  }

  private final class Moments: Sendable {
    let began = Atomic<Int64>(0)
    let ended = Atomic<Int64>(0)
  }

  // MARK: - Switching

  /// Half a round trip of two threads that wait for each other, by what each family waits with.
  private func switches() throws -> [Cost] {
    let waits: [(String, @Sendable () -> Turn)] = [
      ("pthread", { PosixTurn() }),
      ("PosixThread", { OurTurn() }),
      ("Dispatch", { DispatchTurn() }),
    ]
    return try [("one processor", true), ("two processors", false)].map { label, together in
      var samples = waits.map { _ in [Double]() }
      for round in 0...options.samples {
        for index in Interleaving.order(ofRound: round, implementations: waits.count) {
          let time = try roundTrips(waits[index].1, together: together)
          if round > 0 { samples[index].append(time / 2) }
        }
      }
      return Cost(
        name: "switch to a thread that waits, \(label)", unit: .nanoseconds,
        values: Dictionary(
          uniqueKeysWithValues: zip(waits, samples).map { ($0.0, Statistics(of: $1)) }))
    }
  }

  private func roundTrips(
    _ make: @Sendable () -> Turn, together: Bool
  ) throws -> Double {
    let trips = 500
    let there = make()
    let back = make()
    let far = try SystemThread.start(.init()) {
      ProcessorBinding.bindCurrentThread(to: 0)
      for _ in 0..<trips {
        there.wait()
        back.signal()
      }
    }
    let time = Atomic<Int64>(0)
    let box = TimeBox(time)
    let near = try SystemThread.start(.init()) {
      ProcessorBinding.bindCurrentThread(to: together ? 0 : 1)
      let start = MonotonicInstant.now.nanoseconds
      for _ in 0..<trips {
        there.signal()
        back.wait()
      }
      box.time.store(MonotonicInstant.now.nanoseconds - start, ordering: .relaxed)
    }
    near.join()
    far.join()
    return Double(box.time.load(ordering: .relaxed)) / Double(trips)
  }

  private final class TimeBox: Sendable {
    let time: Atomic<Int64>

    init(_ time: consuming Atomic<Int64>) { self.time = time }
  }
}
