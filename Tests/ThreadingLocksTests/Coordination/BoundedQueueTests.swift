import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("BoundedQueue", .endsInTime)
struct BoundedQueueTests {
  /// Counts those that are there.
  private final class Token {
    private let alive: StripedCounter

    init(_ alive: StripedCounter) {
      self.alive = alive
      alive.add()
    }

    deinit { alive.add(-1) }
  }

  @Test("what goes in first comes out first, round and round", arguments: [1, 2, 3, 7])
  func order(capacity: Int) throws {
    let queue = BoundedQueue<Int>(capacity: capacity)
    var next = 0
    for element in 0..<50 {
      if queue.count == capacity {
        #expect(try !queue.tryPut(-1))
        #expect(try queue.take() == next)
        next += 1
      }
      #expect(try queue.tryPut(element))
    }
    while queue.count > 0 {
      #expect(try queue.tryTake() == next)
      next += 1
    }
    #expect(next == 50)
    #expect(try queue.tryTake() == nil)
    #expect(queue.capacity == capacity)
  }

  @Test("a full queue lets a thread wait for a place", .endsInTime)
  func waitsForPlace() throws {
    let queue = BoundedQueue<Int>(capacity: 1)
    try queue.put(1)
    let join = try waiting { #expect(throws: Never.self) { try queue.put(2) } }
    #expect(queue.count == 1)
    #expect(try queue.take() == 1)
    join()
    #expect(try queue.take() == 2)
  }

  @Test("an empty queue lets threads wait for elements, one each", .endsInTime)
  func waitsForElement() throws {
    let queue = BoundedQueue<Int>(capacity: 4)
    let sum = Atomic(0)
    let joins = try (0..<3).map { _ in
      try waiting {
        let element = try? queue.take()
        sum.add(element ?? 0, ordering: .relaxed)
      }
    }
    for element in [1, 10, 100] { try queue.put(element) }
    for join in joins { join() }
    #expect(sum.load(ordering: .relaxed) == 111)
  }

  @Test("a wait ends at its deadline, never before")
  func timedOut() throws {
    let queue = BoundedQueue<Int>(capacity: 1)
    for milliseconds in [-1, 0, 1, 4] {
      let start = MonotonicInstant.now
      #expect(try queue.take(for: .milliseconds(milliseconds)) == nil)
      #expect(start.duration(to: .now) >= .milliseconds(milliseconds))
    }
    #expect(try queue.put(1, until: MonotonicInstant(nanoseconds: 0)))
    for milliseconds in [-1, 0, 1, 4] {
      let start = MonotonicInstant.now
      #expect(try !queue.put(2, for: .milliseconds(milliseconds)))
      #expect(start.duration(to: .now) >= .milliseconds(milliseconds))
    }
    #expect(try queue.take(until: MonotonicInstant(nanoseconds: 0)) == 1)
  }

  @Test("a closed queue lets nothing in and gives out what it has")
  func closed() throws {
    let queue = BoundedQueue<Int>(capacity: 4)
    try queue.put(1)
    try queue.put(2)
    #expect(!queue.isClosed)
    #expect(queue.close())
    #expect(!queue.close())
    #expect(queue.isClosed)
    #expect(throws: QueueClosed()) { try queue.put(3) }
    #expect(throws: QueueClosed()) { try queue.tryPut(3) }
    #expect(throws: QueueClosed()) { try queue.put(3, for: .seconds(1)) }
    #expect(try queue.take() == 1)
    #expect(Array(queue) == [2])
    #expect(throws: QueueClosed()) { try queue.take() }
    #expect(throws: QueueClosed()) { try queue.tryTake() }
    #expect(throws: QueueClosed()) { try queue.take(for: .seconds(1)) }
  }

  @Test("closing wakes all that wait", .endsInTime, arguments: [false, true])
  func closedMeanwhile(isFull: Bool) throws {
    let queue = BoundedQueue<Int>(capacity: 1)
    if isFull { try queue.put(0) }
    let joins = try (0..<3).map { index in
      try waiting {
        #expect(throws: QueueClosed()) {
          if isFull { try queue.put(index) } else { _ = try queue.take() }
        }
      }
    }
    queue.close()
    for join in joins { join() }
    #expect(queue.count == (isFull ? 1 : 0))
  }

  @Test("what is in it goes with it, and what it does not take in goes at once")
  func memory() throws {
    let alive = StripedCounter()
    do {
      let queue = BoundedQueue<Token>(capacity: 3)
      for _ in 0..<2 { try queue.put(Token(alive)) }
      _ = try queue.take()
      for _ in 0..<2 { try queue.put(Token(alive)) }
      #expect(try !queue.tryPut(Token(alive)))
      #expect(alive.sum == 3)
      queue.close()
      #expect(throws: QueueClosed()) { try queue.put(Token(alive)) }
      #expect(alive.sum == 3)
    }
    #expect(alive.sum == 0)
  }

  @Test("a number of elements that cannot be stops the program", arguments: [0, -1, 1 << 40])
  func badCapacity(capacity: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [capacity = capacity as Int] in
      _ = BoundedQueue<Int>(capacity: capacity, label: "jobs")
    }
    #expect(
      message(of: result).contains(
        "BoundedQueue \"jobs\": made for \(capacity) elements; 1 to 2147483647 are allowed"))
  }

  // MARK: Stress

  @Test(
    "each element comes to one thread, and those of one thread in their order", .endsInTime,
    arguments: [1, 3], [UInt64(1)])
  func stress(capacity: Int, seed: UInt64) throws {
    // Not Sendable, and written before it is put and after it is taken: a queue that orders nothing
    // is seen by the thread sanitizer.
    final class Item {
      let producer: Int
      let number: Int
      var isTaken = false

      init(_ producer: Int, _ number: Int) {
        self.producer = producer
        self.number = number
      }
    }
    let queue = BoundedQueue<Item>(capacity: capacity)
    let count = LongTests.operations / 8
    let producers = AtomicCounter(2)
    let taken = Atomic(0)
    try together(4) { index in
      var random = SeededGenerator(seed: seed &+ UInt64(index))
      do {
        if index < 2 {
          for number in 0..<count {
            if Bool.random(using: &random) {
              var isIn = false
              for _ in 0..<2 where !isIn {
                isIn = try queue.put(Item(index, number), until: passed)
              }
              if !isIn { isIn = try queue.put(Item(index, number), for: .seconds(40)) }
              if !isIn { Issue.record("no place came") }
            } else {
              try queue.put(Item(index, number))
            }
          }
          if producers.decrement() == 0 { queue.close() }
        } else {
          var latest = [-1, -1]
          var mine = 0
          while true {
            let item: Item
            if Bool.random(using: &random) {
              guard let found = try queue.take(until: passed) else { continue }
              item = found
            } else {
              item = try queue.take()
            }
            if item.isTaken { Issue.record("taken twice") }
            item.isTaken = true
            if item.number <= latest[item.producer] { Issue.record("out of order") }
            latest[item.producer] = item.number
            mine += 1
            taken.wrappingAdd(1, ordering: .relaxed)
          }
        }
      } catch {
        if index < 2 { Issue.record("closed too early") }
      }
    }
    #expect(taken.load(ordering: .relaxed) == 2 * count)
    #expect(queue.count == 0)
  }

  @Test("a limit that passes as an element comes loses none", .endsInTime)
  func givenToThoseThatGiveUp() throws {
    let queue = BoundedQueue<Int>(capacity: 1)
    try serveThoseThatGiveUp(
      serve: { try? queue.put(1) }, wait: { (try? queue.take(until: $0)) != nil })
  }
}
