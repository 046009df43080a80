import Synchronization
import TestSupport
import Testing
import ThreadingLocks
import ThreadingPlatform

@Suite("Locked", .endsInTime)
struct LockedTests {
  /// Not Sendable: what `Locked` exists to make shareable.
  private final class Account {
    var balance = 0
  }

  private final class Token {
    let count: Unguarded<Int>
    init(_ count: Unguarded<Int>) {
      self.count = count
      count.value += 1
    }
    deinit { count.value -= 1 }
  }

  private struct File: ~Copyable {
    let number: Int
  }

  @Test("gives access to its value, in place")
  func access() {
    let names = Locked<[String]>([])
    names.withLock { $0.append("first") }
    #expect(names.withLock { $0 } == ["first"])
    #expect(names.withLockIfAvailable { $0.count } == 1)
  }

  @Test("a value that is not Sendable is shared by threads")
  func notSendable() throws {
    let account = Locked(Account())
    try concurrently(4) { _ in
      for _ in 0..<1_000 { account.withLock { $0.balance += 1 } }
    }
    #expect(account.withLock { $0.balance } == 4_000)
  }

  @Test("holds values that cannot be copied")
  func notCopyable() {
    let file = Locked(File(number: 3))
    #expect(file.withLock { $0.number } == 3)
    file.withLock { $0 = File(number: 4) }
    #expect(file.withLock { $0.number } == 4)
  }

  @Test("an error of the body comes out and gives the lock back")
  func throwing() {
    struct Refusal: Error {}
    let value = Locked(1)
    #expect(throws: Refusal.self) { try value.withLock { _ throws(Refusal) in throw Refusal() } }
    #expect(value.withLockIfAvailable { $0 } == 1)
  }

  @Test("releases its value when it goes, and none before")
  func released() {
    let alive = Unguarded(0)
    do {
      let token = Locked(Token(alive), label: "token")
      #expect(alive.value == 1)
      token.withLock { $0 = Token(alive) }
      #expect(alive.value == 1)
    }
    #expect(alive.value == 0)
  }

  @Test("a wait for access ends at its deadline, and the body does not run")
  func timed() throws {
    let value = Locked(0)
    try value.withLock { _ in
      try concurrently(1) { _ in
        let start = MonotonicInstant.now
        #expect(value.withLock(for: .milliseconds(5)) { _ in 1 } == nil)
        #expect(start.duration(to: .now) >= .milliseconds(5))
        #expect(value.withLockIfAvailable { _ in 1 } == nil)
      }
    }
    #expect(value.withLock(until: MonotonicInstant(nanoseconds: 0)) { _ in 1 } == 1)
  }

  @Test("100,000 of them leave no memory behind")
  func memory() {
    let alive = Unguarded(0)
    for _ in 0..<100_000 {
      let token = Locked(Token(alive))
      token.withLock { _ in }
    }
    #expect(alive.value == 0)
  }
}
