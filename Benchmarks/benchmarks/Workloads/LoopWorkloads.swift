import Dispatch
import Threading

/// Handing blocks to a thread that serves a loop.
enum LoopWorkloads {
  static func all(threads: [Int]?) -> [Workload] {
    (threads ?? [1, 4]).map(perform(producers:))
      + [mailbox, pingPong, pingPongOnOwnProcessors, pingPongOnOneProcessor, descriptor]
  }

  private static func perform(producers: Int) -> Workload {
    Workload(
      producers == 1 ? "loop/perform" : "loop/perform-\(producers)-producers",
      item: "hand a block to another thread's loop and have it run", threads: producers + 1,
      family: "loop/perform-producers",
      [
        .ours { try performBatch(OurLoop.self, producers, $0) },
        Implementation("foundation") { try performBatch(FoundationLoop.self, producers, $0) },
        Implementation("foundation-timer") {
          try performBatch(FoundationLoopByTimer.self, producers, $0)
        },
        Implementation("dispatch") { try performBatch(DispatchLoop.self, producers, $0) },
      ].filter(isPossible))
  }

  /// Threads that hand over `items` blocks between them; the last block to run ends the batch.
  private static func performBatch<Loop: ServedLoop>(
    _ type: Loop.Type, _ producers: Int, _ items: Int
  ) throws -> Int64 {
    let loop = try Loop.start(on: nil)
    defer { loop.stop() }
    let ran = Tally()
    let done = DispatchSemaphore(value: 0)
    let stopwatch = Stopwatch()
    _ = try Team.run(producers) { producer in
      let share = items / producers + (producer < items % producers ? 1 : 0)
      for _ in 0..<share {
        loop.perform {
          ran.increment()
          if ran.value == items { done.signal() }
        }
      }
    }
    done.wait()
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the blocks that ran", ran.value, is: items)
    return nanoseconds
  }

  private static let mailbox = Workload(
    "loop/mailbox", item: "send a number to another thread, which adds it up", threads: 2,
    [
      .ours { items in
        let loop = try OurLoop.start(on: nil)
        defer { loop.stop() }
        return try sumBatch(items) { take in
          let mailbox = Mailbox<Int>(handler: take)
          try loop.add(mailbox)
          return { mailbox.send($0) }
        }
      },
      Implementation("ours-perform") { items in
        let loop = try OurLoop.start(on: nil)
        defer { loop.stop() }
        return try sumBatch(items) { take in { number in loop.perform { take(number) } } }
      },
      Implementation("dispatch") { items in
        let queue = DispatchQueue(label: "benchmarks")
        return try sumBatch(items) { take in { number in queue.async { take(number) } } }
      },
    ])

  private static func sumBatch(
    _ items: Int, _ connect: (@escaping @Sendable (Int) -> Void) throws -> (Int) -> Void
  ) throws -> Int64 {
    let sum = Tally()
    let received = Tally()
    let done = DispatchSemaphore(value: 0)
    let send = try connect { number in
      sum.value += number
      received.increment()
      if received.value == items { done.signal() }
    }
    let stopwatch = Stopwatch()
    for number in 0..<items { send(number) }
    done.wait()
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the sum", sum.value, is: items * (items - 1) / 2)
    return nanoseconds
  }

  /// On threads that the scheduler places, as it does in a program.
  private static let pingPong = Workload(
    "loop/ping-pong", item: "two loops hand a block to each other, there and back", threads: 2,
    [
      .ours { try pingPongBatch(OurLoop.self, on: nil, $0) },
      Implementation("foundation") { try pingPongBatch(FoundationLoop.self, on: nil, $0) },
      Implementation("foundation-timer") {
        try pingPongBatch(FoundationLoopByTimer.self, on: nil, $0)
      },
      Implementation("dispatch") { try pingPongBatch(DispatchLoop.self, on: nil, $0) },
      Implementation("kernel", PingPong.batch(on: .free) { try EventDescriptor() }),
    ].filter(isPossible))

  /// A processor for each loop, where looking out before sleeping pays; without Dispatch, whose threads
  /// cannot be bound.
  private static let pingPongOnOwnProcessors = Workload(
    "loop/ping-pong-own-cores", item: "two loops hand a block to each other, there and back",
    threads: 2,
    [
      .ours { try pingPongBatch(OurLoop.self, on: 0, and: 1, $0) },
      Implementation("ours-spin") { try pingPongBatch(OurSpinningLoop.self, on: 0, and: 1, $0) },
      Implementation("foundation") { try pingPongBatch(FoundationLoop.self, on: 0, and: 1, $0) },
      Implementation("kernel", PingPong.batch(on: .ownProcessors) { try EventDescriptor() }),
    ].filter(isPossible))

  /// Without Dispatch, whose threads cannot be bound.
  private static let pingPongOnOneProcessor = Workload(
    "loop/ping-pong-one-core", item: "two loops hand a block to each other, there and back",
    threads: 2,
    [
      .ours { try pingPongBatch(OurLoop.self, on: 0, $0) },
      Implementation("foundation") { try pingPongBatch(FoundationLoop.self, on: 0, $0) },
      Implementation("foundation-timer") {
        try pingPongBatch(FoundationLoopByTimer.self, on: 0, $0)
      },
      Implementation("kernel", PingPong.batch(on: .oneProcessor) { try EventDescriptor() }),
    ].filter(isPossible))

  private static let descriptor = Workload(
    "loop/descriptor", item: "a thread and a loop's descriptor source signal each other",
    threads: 2,
    [
      .ours { items in
        let there = try EventDescriptor()
        let back = try EventDescriptor()
        let served = Tally()
        let loop = try OurLoop.start(on: nil)
        defer { loop.stop() }
        let source = DescriptorSource(there.descriptor, for: .readable) { _, _ in
          there.wait()
          served.increment()
          back.signal()
        }
        try loop.add(source)
        let nanoseconds = callAndAnswer(items, there, back)
        source.cancel()
        try WrongResult.unless("the signals served", served.value, is: items)
        return nanoseconds
      },
      Implementation("dispatch") { items in
        let there = try EventDescriptor()
        let back = try EventDescriptor()
        let served = Tally()
        let queue = DispatchQueue(label: "benchmarks")
        let source = DispatchSource.makeReadSource(
          fileDescriptor: there.descriptor, queue: queue)
        let cancelled = DispatchSemaphore(value: 0)
        source.setEventHandler {
          there.wait()
          served.increment()
          back.signal()
        }
        source.setCancelHandler { cancelled.signal() }
        source.resume()
        let nanoseconds = callAndAnswer(items, there, back)
        source.cancel()
        cancelled.wait()
        try WrongResult.unless("the signals served", served.value, is: items)
        return nanoseconds
      },
      Implementation("kernel", PingPong.batch(on: .free) { try EventDescriptor() }),
    ])

  private static func callAndAnswer(
    _ items: Int, _ there: EventDescriptor, _ back: EventDescriptor
  ) -> Int64 {
    let stopwatch = Stopwatch()
    for _ in 0..<items {
      there.signal()
      back.wait()
    }
    return stopwatch.nanoseconds
  }

  private static func pingPongBatch<Loop: ServedLoop>(
    _ type: Loop.Type, on processor: Int?, and other: Int? = nil, _ items: Int
  ) throws -> Int64 {
    let near = try Loop.start(on: processor)
    defer { near.stop() }
    let far = try Loop.start(on: other ?? processor)
    defer { far.stop() }
    let game = Game(near: near, far: far, items: items)
    let stopwatch = Stopwatch()
    near.perform { game.serve() }
    game.done.wait()
    let nanoseconds = stopwatch.nanoseconds
    try WrongResult.unless("the round trips", game.returned.value, is: items)
    return nanoseconds
  }

  /// Two loops and the blocks that go to and fro between them.
  private final class Game<Loop: ServedLoop>: Sendable {
    let near: Loop
    let far: Loop
    let items: Int
    let returned = Tally()
    let done = DispatchSemaphore(value: 0)

    init(near: Loop, far: Loop, items: Int) {
      self.near = near
      self.far = far
      self.items = items
    }

    /// On the near loop: sends a block, which comes back.
    func serve() {
      far.perform {
        self.near.perform {
          self.returned.increment()
          if self.returned.value == self.items { self.done.signal() } else { self.serve() }
        }
      }
    }
  }

  /// Whether what an implementation needs is in the process.
  private static func isPossible(_ implementation: Implementation) -> Bool {
    implementation.name != "foundation" || FoundationLoop.canWake
  }
}
