import Synchronization
import Threading

extension AtomicsChapter {
  // snippet: publication
  /// A plain value, and a flag that says that it is there.
  // SAFETY of @unchecked: `value` is written before `isThere` is set, and read after it was seen.
  final class Publication: @unchecked Sendable {
    private var value = 0
    private let isThere = Atomic(false)

    func publish(_ value: Int) {
      self.value = value
      // releasing: with the acquiring load below.
      isThere.store(true, ordering: .releasing)
    }

    func read() -> Int? {
      // acquiring: who sees true sees the value that was written before.
      guard isThere.load(ordering: .acquiring) else { return nil }
      return value
    }
  }
  // end

  /// Publishes numbers, one after the other, to a thread that waits for each.
  ///
  /// - Returns: how many were right.
  static func publish(_ count: Int) throws -> Int {
    let publications = (0..<count).map { _ in Publication() }
    let reader = try PosixThread.start {
      var right = 0
      for (number, publication) in publications.enumerated() {
        var seen = publication.read()
        while seen == nil { seen = publication.read() }
        if seen == number + 1 { right += 1 }
      }
      return right
    }
    for (number, publication) in publications.enumerated() { publication.publish(number + 1) }
    return try reader.join()
  }

  enum Order: Sendable {
    case strict, loose
  }

  /// Two variables, and for each round a cell of each: a pair of threads writes one and reads the other.
  private final class Pair: Sendable {
    let left = Atomic(0)
    let right = Atomic(0)
  }

  // snippet: store
  /// One thread writes `left` and reads `right`, the other writes `right` and reads `left`.
  ///
  /// - Returns: in how many rounds both read what was there before.
  static func bothMissed(rounds: Int, _ order: Order) throws -> Int {
    let pairs = (0..<rounds).map { _ in Pair() }
    let meeting = SpinMeeting()
    let one = try PosixThread.start {
      pairs.map { pair in
        meeting.meet()
        return order == .strict
          ? writeAndRead(pair.left, pair.right) : writeAndReadLoosely(pair.left, pair.right)
      }
    }
    let other = try PosixThread.start {
      pairs.map { pair in
        meeting.meet()
        return order == .strict
          ? writeAndRead(pair.right, pair.left) : writeAndReadLoosely(pair.right, pair.left)
      }
    }
    let seen = zip(try one.join(), try other.join())
    return seen.count { $0 == 0 && $1 == 0 }
  }

  static func writeAndRead(_ mine: borrowing Atomic<Int>, _ yours: borrowing Atomic<Int>) -> Int {
    mine.store(1, ordering: .sequentiallyConsistent)
    return yours.load(ordering: .sequentiallyConsistent)
  }

  static func writeAndReadLoosely(
    _ mine: borrowing Atomic<Int>, _ yours: borrowing Atomic<Int>
  ) -> Int {
    mine.store(1, ordering: .relaxed)
    return yours.load(ordering: .relaxed)
  }
  // end

  /// Where two threads meet without sleeping, so that they go on at the same time.
  private final class SpinMeeting: Sendable {
    private let arrived = Atomic(0)

    func meet() {
      let mine = arrived.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
      let end = (mine / 2 + 1) * 2
      var turns = 0
      while arrived.load(ordering: .acquiring) < end {
        turns += 1
        // The other one may wait for this processor.
        if turns % 1_000 == 0 { try? ThreadHandle.sleep(for: .microseconds(1)) }
      }
    }
  }
}
