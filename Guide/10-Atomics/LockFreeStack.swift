import Synchronization
import Threading

extension AtomicsChapter {
  // snippet: stack
  /// A stack of the numbers 1, 2, ... up to a limit, without a lock. Each number is on it at most once.
  ///
  /// `head` holds the number on top in its low half, 0 for none. The high half counts the changes.
  final class NumberStack: Sendable {
    private let head = Atomic<UInt64>(0)
    /// Which number lies under each.
    private let below: [AtomicBox<UInt32>]
    private let countsChanges: Bool

    init(limit: Int, countsChanges: Bool = true) {
      below = (0...limit).map { _ in AtomicBox(UInt32(0)) }
      self.countsChanges = countsChanges
    }

    func push(_ number: UInt32) {
      while true {
        let seen = head.load(ordering: .relaxed)
        below[Int(number)].atomic.store(UInt32(truncatingIfNeeded: seen), ordering: .relaxed)
        if replace(seen, by: number) { return }
      }
    }

    func pop() -> UInt32? {
      while true {
        guard let step = beginPop() else { return nil }
        if finishPop(step) { return step.number }
      }
    }

    /// What is on top, and what shall be when it is gone.
    func beginPop() -> PopStep? {
      let seen = head.load(ordering: .acquiring)
      let number = UInt32(truncatingIfNeeded: seen)
      if number == 0 { return nil }
      return PopStep(
        seen: seen, number: number, next: below[Int(number)].atomic.load(ordering: .relaxed))
    }

    /// Takes the top off, if nothing has happened since.
    func finishPop(_ step: PopStep) -> Bool {
      replace(step.seen, by: step.next)
    }

    private func replace(_ seen: UInt64, by number: UInt32) -> Bool {
      let changes = countsChanges ? (seen >> 32) + 1 : 0
      return head.compareExchange(
        expected: seen, desired: changes << 32 | UInt64(number), ordering: .acquiringAndReleasing
      ).exchanged
    }
  }
  // end

  struct PopStep {
    let seen: UInt64
    let number: UInt32
    let next: UInt32
  }

  /// What happens when a pop is interrupted, and the stack meanwhile changes and comes to look as before.
  ///
  /// - Returns: whether the pop was finished, and what was then on the stack.
  static func interruptedPop(countsChanges: Bool) -> (finished: Bool, left: [UInt32]) {
    // snippet: aba
    let stack = NumberStack(limit: 3, countsChanges: countsChanges)
    for number in [3, 2, 1] as [UInt32] { stack.push(number) }
    let step = stack.beginPop()!  // 1 is on top, 2 below it; now others come
    let first = stack.pop()!  // 1
    let second = stack.pop()!  // 2, which they keep
    stack.push(first)  // 1 is on top again, but below it is 3
    let finished = stack.finishPop(step)
    // end
    precondition(second == 2)
    var left: [UInt32] = []
    while left.count < 4, let number = stack.pop() { left.append(number) }
    return (finished, left)
  }

  static func abaHappens() -> Bool {
    // The interrupted pop has put 2 on top, which others have: it belongs to two.
    let (finished, left) = interruptedPop(countsChanges: false)
    return finished && left.first == 2
  }

  static func abaIsSeen() -> Bool {
    let (finished, left) = interruptedPop(countsChanges: true)
    return !finished && left == [1, 3]
  }

  static func stackIsWhole() throws -> Bool {
    let stack = NumberStack(limit: 8)
    for number in 1...8 { stack.push(UInt32(number)) }
    let held = (0...8).map { _ in AtomicFlag() }
    let threads = try (0..<4).map { _ in
      try PosixThread.start {
        var isRight = true
        for _ in 0..<5_000 {
          guard let number = stack.pop() else { continue }
          if held[Int(number)].testAndSet() { isRight = false }
          _ = held[Int(number)].testAndClear()
          stack.push(number)
        }
        return isRight
      }
    }
    let areRight = try threads.map { try $0.join() }.allSatisfy { $0 }
    var left: [UInt32] = []
    while let number = stack.pop() { left.append(number) }
    return areRight && left.sorted() == Array(1...8)
  }
}
