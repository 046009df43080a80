import Synchronization
import TestSupport
import Testing
import ThreadingPlatform

private let globalWord = Atomic<UInt32>(0)

private struct Inner: ~Copyable {
  let first: UInt64 = 0
  let word = Atomic<UInt32>(0)
}

private struct Outer: ~Copyable {
  let first: UInt8 = 0
  let inner = Inner()
}

private final class Holder: Sendable {
  let word = Atomic<UInt32>(0)
  let outer = Outer()
}

private final class Box<Content: ~Copyable & Sendable>: Sendable {
  let content: Content
  let word = Atomic<UInt32>(0)
  init(_ content: consuming Content) { self.content = content }
}

@Suite("Futex", .endsInTime)
struct FutexTests {
  /// Has one thread sleep on the word and another wake it, each reaching the word by itself.
  private func checkWake(
    _ withWord: @escaping @Sendable ((borrowing Atomic<UInt32>) -> Void) -> Void
  )
    throws
  {
    final class Addresses: Sendable {
      let sleeper = Atomic<UInt>(0)
      let id = Atomic<UInt32>(0)
    }
    let seen = Addresses()
    let join = try inBackground {
      seen.id.store(SystemThread.currentID, ordering: .relaxed)
      withWord { word in
        seen.sleeper.store(Futex.address(of: word), ordering: .relaxed)
        while word.load(ordering: .acquiring) == 0 { _ = Futex.wait(word, while: 0) }
      }
    }
    #expect(eventually { threadIsAsleep(seen.id.load(ordering: .relaxed)) })
    withWord { word in
      #expect(Futex.address(of: word) == seen.sleeper.load(ordering: .relaxed))
      // The kernel finds the sleeper, so this is the address on which it sleeps.
      word.store(1, ordering: .releasing)
      #expect(Futex.wake(word, count: 1) == 1)
    }
    join()
  }

  @Test(
    "the address of a global word stays, and a wake finds who sleeps on it",
    .endsInTime)
  func global() throws {
    try checkWake { $0(globalWord) }
  }

  @Test("so it is for a property of a class", .endsInTime)
  func property() throws {
    let holder = Holder()
    try checkWake { $0(holder.word) }
  }

  @Test("so it is for a word nested in other values", .endsInTime)
  func nested() throws {
    let holder = Holder()
    try checkWake { $0(holder.outer.inner.word) }
  }

  @Test("so it is in a generic class, behind content of any size", .endsInTime)
  func generic() throws {
    let box = Box(Outer())
    try checkWake { $0(box.word) }
    try checkWake { $0(box.content.inner.word) }
  }

  @Test("so it is for a local constant that closures capture", .endsInTime)
  func local() throws {
    let word = Atomic<UInt32>(0)
    try checkWake { $0(word) }
  }

  @Test("neighbouring words have addresses of their own")
  func distinct() {
    let holder = Holder()
    let first = Futex.address(of: holder.word)
    let second = Futex.address(of: holder.outer.inner.word)
    #expect(first != second)
    #expect(first == Futex.address(of: holder.word))
    #expect(first.isMultiple(of: 4) && second.isMultiple(of: 4))
  }

  @Test("a word that has changed is not slept on")
  func changed() {
    let word = Atomic<UInt32>(1)
    #expect(Futex.wait(word, while: 0) == .lookAgain)
  }

  @Test("a sleep ends at its deadline, never before")
  func timedOut() {
    let word = Atomic<UInt32>(0)
    for microseconds in [-1_000_000, 0, 100, 1_000, 4_000] {
      for _ in 0..<20 {
        let deadline = MonotonicInstant.now.advanced(by: .microseconds(microseconds))
        #expect(Futex.wait(word, while: 0, until: deadline) == .timedOut)
        #expect(MonotonicInstant.now >= deadline)
      }
    }
    #expect(Futex.wait(word, while: 0, until: MonotonicInstant(nanoseconds: .min)) == .timedOut)
  }

  @Test("wakes at most as many as asked for, and says how many", .endsInTime)
  func counts() throws {
    let holder = Holder()
    let ids = (0..<4).map { _ in Holder() }
    let joins = try (0..<4).map { index in
      try inBackground {
        ids[index].word.store(SystemThread.currentID, ordering: .relaxed)
        _ = Futex.wait(holder.word, while: 0)
      }
    }
    for id in ids { #expect(eventually { threadIsAsleep(id.word.load(ordering: .relaxed)) }) }
    #expect(Futex.wake(holder.word, count: 1) == 1)
    #expect(Futex.wake(holder.word, count: 2) == 2)
    #expect(Futex.wakeAll(holder.word) == 1)
    #expect(Futex.wakeAll(holder.word) == 0)
    for join in joins { join() }
  }

  @Test("a wake is for those that it names", .endsInTime)
  func groups() throws {
    let holder = Holder()
    let id = Holder()
    let join = try inBackground {
      id.word.store(SystemThread.currentID, ordering: .relaxed)
      while holder.word.load(ordering: .relaxed) == 0 {
        _ = Futex.wait(holder.word, while: 0, as: .urgent)
      }
    }
    #expect(eventually { threadIsAsleep(id.word.load(ordering: .relaxed)) })
    #expect(Futex.wake(holder.word, count: 1, of: .ordinary) == 0)
    holder.word.store(1, ordering: .relaxed)
    #expect(Futex.wake(holder.word, count: 1, of: .urgent) == 1)
    join()
  }

  @Test("a pause ends a sleep, and is no time-out")
  func pauses() {
    let word = Atomic<UInt32>(0)
    for deadline in [MonotonicInstant.distantFuture, .now.advanced(by: .seconds(3_600))] {
      let pause = MonotonicInstant.now.advanced(by: .milliseconds(1))
      #expect(
        Futex.wait(word, while: 0, until: deadline, lookingAgainAt: pause) == .lookAgain)
      #expect(MonotonicInstant.now >= pause)
    }
    let deadline = MonotonicInstant.now.advanced(by: .milliseconds(1))
    #expect(
      Futex.wait(word, while: 0, until: deadline, lookingAgainAt: .distantFuture) == .timedOut)
    #expect(MonotonicInstant.now >= deadline)
  }

  @Test(
    "a signal handler that runs meanwhile sends the caller to look again",
    .endsInTime)
  func interrupted() throws {
    let holder = Holder()
    let id = Holder()
    let send = Mailbox()
    let join = try inBackground {
      send.value = HarmlessSignal.accept()
      id.word.store(SystemThread.currentID, ordering: .releasing)
      #expect(Futex.wait(holder.word, while: 0) == .lookAgain)
    }
    #expect(
      eventually {
        let number = id.word.load(ordering: .acquiring)
        return number != 0 && threadIsAsleep(number)
      })
    send.value()
    join()
  }
}

/// Written before the thread's id is published, read after.
private final class Mailbox: @unchecked Sendable {
  var value: @Sendable () -> Void = {}
}
