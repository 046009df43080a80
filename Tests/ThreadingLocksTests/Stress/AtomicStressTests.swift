import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private final class Item: Sendable {
  let number: Int
  let alive: StripedCounter

  init(_ number: Int, _ alive: StripedCounter) {
    self.number = number
    self.alive = alive
    alive.add()
  }

  deinit { alive.add(-1) }
}

@Suite("Stress of the atomics", .endsInTime)
struct AtomicStressTests {
  @Test(
    "AtomicFlag: excludes as a lock, with waits that give up",
    .endsInTime)
  func atomicFlag() throws {
    let flag = AtomicFlag()
    let count = Unguarded(0)
    let rounds = LongTests.operations / 3
    try together(3) { index in
      for round in 0..<rounds {
        while flag.testAndSet() {
          if round.isMultiple(of: 2) {
            waitImpatiently(flag.waitUntilClear(until:))
          } else {
            flag.waitUntilClear()
          }
        }
        count.value += 1
        flag.testAndClear()
      }
    }
    #expect(count.value == 3 * rounds)
  }

  @Test(
    "AtomicCounter: loses no count and no waiter", .endsInTime)
  func atomicCounter() throws {
    let counter = AtomicCounter()
    let values = Unguarded(0)
    let rounds = LongTests.operations / 4
    try together(2) { index in
      for round in 0..<rounds {
        let mine = 2 * round + index
        if round.isMultiple(of: 3) {
          waitImpatiently { counter.wait(until: $0, when: { $0 == mine }) != nil }
        } else {
          counter.wait(when: { $0 == mine })
        }
        if values.value != mine { Issue.record("\(values.value), not \(mine)") }
        values.value += 1
        counter.increment()
      }
    }
    #expect(counter.value == 2 * rounds)
  }

  @Test(
    "AtomicBox: no change is missed, with waits that give up",
    .endsInTime)
  func atomicBox() throws {
    let turn = AtomicBox<UInt8>(0)
    let count = Unguarded(0)
    let rounds = LongTests.operations / 6
    try together(3) { index in
      for round in 0..<rounds {
        let mine = UInt8(index)
        while true {
          let seen = turn.atomic.load(ordering: .acquiring)
          if seen == mine { break }
          if round.isMultiple(of: 2) {
            waitImpatiently { turn.wait(while: seen, until: $0) != nil }
          } else {
            turn.wait(while: seen)
          }
        }
        count.value += 1
        turn.update { ($0 + 1) % 3 }
        turn.notifyAll()
      }
    }
    #expect(count.value == 3 * rounds)
  }

  @Test(
    "AtomicReference: nothing is freed early, nothing kept", .endsInTime
  )
  func atomicReference() throws {
    let alive = StripedCounter()
    do {
      let reference = AtomicReference(Item(0, alive))
      let replaced = Atomic(0)
      try together(4) { index in
        for round in 0..<(LongTests.operations / 4) {
          switch index {
          case 0: reference.store(Item(round, alive))
          case 1:
            let seen = reference.load()
            let next = Item(round, alive)
            let (exchanged, original) = reference.compareExchange(expected: seen, desired: next)
            if exchanged != (original === seen) { Issue.record("an exchange answered untruly") }
            if exchanged { replaced.wrappingAdd(1, ordering: .relaxed) }
          default:
            guard let item = reference.load() else {
              Issue.record("no object")
              return
            }
            if item.number < 0 || item.alive !== alive { Issue.record("read \(item.number)") }
          }
        }
      }
      #expect(replaced.load(ordering: .relaxed) > 0)
      #expect(alive.sum == 1)
    }
    #expect(alive.sum == 0)
  }

  @Test(
    "AtomicReference: of those that fill it at once one wins, and the others' objects go",
    .endsInTime)
  func filledOnce() throws {
    let alive = StripedCounter()
    try inRounds(LongTests.operations / 3, threads: 3) {
      (AtomicReference<Item>(), AtomicCounter())
    } _: { index, _, shared in
      let mine = Item(index, alive)
      if shared.0.storeIfEmpty(mine) === mine, shared.1.increment() != 1 {
        Issue.record("two have won")
      }
    }
    #expect(alive.sum == 0)
  }

  /// A stack without a lock whose nodes are used again at once. The head carries a count beside the
  /// first node's number, without which a head that is the same again would be taken for unchanged.
  private final class Stack: Sendable {
    let head = AtomicBox(WordPair(first: 0, second: 0))
    let next: [AtomicBox<UInt>]

    init(_ count: Int) {
      next = (0...count).map { _ in AtomicBox<UInt>(0) }
    }

    func push(_ node: UInt) {
      head.update { head in
        next[Int(node)].atomic.store(head.first, ordering: .relaxed)
        return WordPair(first: node, second: head.second &+ 1)
      }
    }

    func pop() -> UInt? {
      let (head, _) = head.update { head in
        guard head.first != 0 else { return head }
        let following = next[Int(head.first)].atomic.load(ordering: .relaxed)
        return WordPair(first: following, second: head.second &+ 1)
      }
      return head.first == 0 ? nil : head.first
    }
  }

  @Test(
    "AtomicBox: a stack of nodes that are used again at once hands none out twice",
    .endsInTime)
  func reusedNodes() throws {
    let stack = Stack(6)
    for node in 1...6 { stack.push(UInt(node)) }
    let holders = (0...6).map { _ in AtomicFlag() }
    let owned = (0...6).map { _ in Unguarded(0) }
    try together(4) { index in
      for _ in 0..<(LongTests.operations / 4) {
        guard let node = stack.pop() else { continue }
        if holders[Int(node)].testAndSet() { Issue.record("node \(node) handed out twice") }
        owned[Int(node)].value += 1
        holders[Int(node)].testAndClear()
        stack.push(node)
      }
    }
    var left: Set<UInt> = []
    while let node = stack.pop() { left.insert(node) }
    #expect(left == Set(1...6))
  }

  @Test("StripedCounter: what is added while it is taken is in this sum or the next")
  func stripedCounterTaken() throws {
    // One cell, which two threads go for all the time they run at once; so it is the time that counts.
    let counter = StripedCounter(stripes: 1)
    let sums = (0..<2).map { _ in Unguarded(0) }
    let end = MonotonicInstant.now.advanced(by: .milliseconds(LongTests.areOn ? 30_000 : 300))
    try together(2) { index in
      while MonotonicInstant.now < end {
        for _ in 0..<1_000 {
          if index == 0 {
            counter.add()
            sums[0].value += 1
          } else {
            sums[1].value += counter.takeSum()
          }
        }
      }
    }
    #expect(sums[1].value + counter.sum == sums[0].value)
  }

  @Test(
    "StripedCounter: loses nothing, however often it is taken",
    .endsInTime, arguments: [1, 2, 64])
  func stripedCounter(stripes: Int) throws {
    let counter = StripedCounter(stripes: stripes)
    let taken = Unguarded(0)
    let adding = AtomicCounter(3)
    let rounds = LongTests.operations / 3
    try together(4) { index in
      if index < 3 {
        for _ in 0..<rounds { counter.add(index + 1) }
        adding.decrement()
      } else {
        // Nothing else, so that wherever it is stopped, it is likely in the middle of taking.
        while adding.value > 0 { taken.value += counter.takeSum() }
      }
    }
    #expect(taken.value + counter.sum == 6 * rounds)
  }
}
