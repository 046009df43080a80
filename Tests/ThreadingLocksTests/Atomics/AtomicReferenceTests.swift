import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

private final class Item: Sendable {
  static let alive = Atomic(0)
  let number: Int

  init(_ number: Int) {
    self.number = number
    Item.alive.wrappingAdd(1, ordering: .relaxed)
  }

  deinit { Item.alive.wrappingSubtract(1, ordering: .relaxed) }
}

@Suite("AtomicReference", .endsInTime, .serialized)
struct AtomicReferenceTests {
  @Test("reads, swaps and compares by identity, and releases what it lets go of")
  func sequential() {
    do {
      let reference = AtomicReference<Item>()
      #expect(reference.load() == nil)
      let first = Item(1)
      reference.store(first)
      #expect(reference.load() === first)
      #expect(reference.exchange(Item(2)) === first)
      #expect(reference.compareExchange(expected: first, desired: nil).exchanged == false)
      let second = reference.load()
      let result = reference.compareExchange(expected: second, desired: first)
      #expect(result.exchanged && result.original === second)
      #expect(Item.alive.load(ordering: .relaxed) == 2)
    }
    #expect(Item.alive.load(ordering: .relaxed) == 0)
  }

  @Test(
    "of threads that fill it at once one wins, and the others' objects go", .endsInTime)
  func storeIfEmpty() throws {
    for _ in 0..<300 {
      let reference = AtomicReference<Item>()
      let seen = Locked<Set<ObjectIdentifier>>([])
      try concurrently(3) { index in
        let now = reference.storeIfEmpty(Item(index))
        seen.withLock { _ = $0.insert(ObjectIdentifier(now)) }
      }
      #expect(seen.withLock { $0.count } == 1)
      #expect(Item.alive.load(ordering: .relaxed) == 1)
    }
    #expect(Item.alive.load(ordering: .relaxed) == 0)
  }

  @Test("an object is never freed while it is read", .endsInTime)
  func stress() throws {
    do {
      let reference = AtomicReference(Item(0))
      try concurrently(4) { index in
        for round in 0..<10_000 {
          if index < 2 {
            reference.store(Item(round))
          } else if let item = reference.load(), item.number < 0 || item.number >= 10_000 {
            Issue.record("read \(item.number)")
          }
        }
      }
      #expect(Item.alive.load(ordering: .relaxed) == 1)
    }
    #expect(Item.alive.load(ordering: .relaxed) == 0)
  }

  @Test("a wait ends when another object is there, or at its deadline", .endsInTime)
  func waits() throws {
    let reference = AtomicReference<Item>()
    let start = MonotonicInstant.now
    #expect(!reference.wait(while: nil, for: .milliseconds(2)))
    #expect(start.duration(to: .now) >= .milliseconds(2))
    let join = try waiting { #expect(reference.wait(while: nil)?.number == 7) }
    reference.store(Item(7))
    join()
    #expect(reference.wait(while: nil, until: MonotonicInstant(nanoseconds: 0)))
    reference.store(nil)
  }

  @Test("an object that uses the reference as it goes does no harm")
  func reentrant() {
    final class Knot: Sendable {
      let reference: AtomicReference<Knot>
      init(_ reference: AtomicReference<Knot>) { self.reference = reference }
      deinit { _ = reference.load() }
    }
    let reference = AtomicReference<Knot>()
    reference.store(Knot(reference))
    reference.store(nil)
    #expect(reference.load() == nil)
  }
}
