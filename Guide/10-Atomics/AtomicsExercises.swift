import Synchronization
import Threading

extension AtomicsChapter {
  static let solutions = [
    Solution("a value that is made once") { page in
      let made = AtomicCounter()
      let value = OnceValue { made.increment() * 42 }
      let threads = try (0..<8).map { _ in try PosixThread.start { value.get() } }
      let seen = Set(try threads.map { try $0.join() })
      page.claim("eight threads got the same value: 42", seen == [42])
      page.claim("it was made once", made.value == 1)
    },
    Solution("a spin lock of one's own") { page in
      let lock = SmallSpinLock()
      let sum = UncheckedSum()
      let threads = try (0..<3).map { _ in
        try PosixThread.start {
          for _ in 0..<2_000 { lock.withLock { sum.value += 1 } }
        }
      }
      for thread in threads { try thread.join() }
      page.claim("three threads counted to 6,000", sum.value == 6_000)
    },
  ]

  /// Makes a value when it is first asked for.
  // SAFETY of @unchecked: `value` is written by the thread that changed `state` from `empty`, before it
  // stores `full`, and read after `full` was seen.
  final class OnceValue: @unchecked Sendable {
    private static let (empty, busy, full) = (0, 1, 2)
    private let state = AtomicBox(empty)
    private let make: @Sendable () -> Int
    private var value = 0

    init(_ make: @escaping @Sendable () -> Int) { self.make = make }

    func get() -> Int {
      // acquiring: with the releasing store of who made the value.
      let isFirst = state.atomic.compareExchange(
        expected: Self.empty, desired: Self.busy, ordering: .acquiring
      ).exchanged
      if isFirst {
        value = make()
        // releasing: with whoever sees `full`.
        state.atomic.store(Self.full, ordering: .releasing)
        state.notifyAll()
      } else {
        _ = state.wait(while: Self.busy)
      }
      return value
    }
  }

  final class SmallSpinLock: Sendable {
    private let isTaken = Atomic(false)

    func withLock(_ body: () -> Void) {
      // acquiring: with the releasing store of the last owner.
      var turns = 0
      while isTaken.exchange(true, ordering: .acquiring) {
        turns += 1
        // The owner may wait for this processor.
        if turns % 100 == 0 { try? ThreadHandle.sleep(for: .microseconds(10)) }
      }
      body()
      isTaken.store(false, ordering: .releasing)
    }
  }

  // SAFETY of @unchecked: used with the spin lock held, or after the join.
  final class UncheckedSum: @unchecked Sendable {
    var value = 0
  }
}
