import Synchronization
import TestSupport
import Testing
import ThreadingLocks

private struct Refusal: Error, Equatable {
  let attempt: Int
}

@Suite("LazyValue", .endsInTime)
struct LazyValueTests {
  @Test("is made at first use, once")
  func once() {
    let count = Atomic(0)
    let value = LazyValue { count.wrappingAdd(1, ordering: .relaxed).newValue }
    #expect(value.valueIfMade == nil)
    #expect(value.value == 1)
    #expect(value.value == 1)
    #expect(value.valueIfMade == 1)
  }

  @Test("an error goes to the one that asks, and the next one tries again")
  func failing() throws {
    let count = Atomic(0)
    let value = LazyValue { () throws(Refusal) -> Int in
      let attempt = count.wrappingAdd(1, ordering: .relaxed).newValue
      if attempt == 1 { throw Refusal(attempt: attempt) }
      return attempt
    }
    #expect(throws: Refusal(attempt: 1)) { try value.get() }
    #expect(try value.get() == 2)
  }

  @Test("lets go of its maker when made, and of its value when it goes")
  func released() {
    final class Token: Sendable {
      let count: Unguarded<Int>
      init(_ count: Unguarded<Int>) {
        self.count = count
        count.value += 1
      }
      deinit { count.value -= 1 }
    }
    let makers = Unguarded(0)
    let values = Unguarded(0)
    do {
      let value: LazyValue<Token, Never>
      do {
        let maker = Token(makers)
        value = LazyValue {
          _ = maker
          return Token(values)
        }
      }
      #expect(makers.value == 1 && values.value == 0)
      _ = value.value
      #expect(makers.value == 0 && values.value == 1)
    }
    #expect(values.value == 0)
  }

  @Test("of threads that race all see the one value", .endsInTime)
  func race() throws {
    for _ in 0..<300 {
      let made = Atomic(0)
      let value = LazyValue {
        made.wrappingAdd(1, ordering: .relaxed)
        return [1, 2, 3]
      }
      try concurrently(4) { _ in #expect(value.value == [1, 2, 3]) }
      #expect(made.load(ordering: .relaxed) == 1)
    }
  }

  @Test("a maker that asks for its own value stops the program")
  func recursion() async {
    await #expect(processExitsWith: .failure) {
      let box = Locked<LazyValue<Int, Never>?>(nil)
      let value = LazyValue { box.withLock { $0 }?.value ?? 0 }
      box.withLock { $0 = value }
      _ = value.value
    }
  }
}
